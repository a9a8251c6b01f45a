-- insert_job: one row
INSERT INTO jobs (id, collection, name, name_folded, document, sealed)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
