-- insert_audit: appends an entry
INSERT INTO audit (entry) VALUES (?1)
