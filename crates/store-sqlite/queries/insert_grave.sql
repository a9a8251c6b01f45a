-- insert_grave: one row
INSERT INTO graves (job)
VALUES (?1)
