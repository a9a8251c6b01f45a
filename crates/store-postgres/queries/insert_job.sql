-- insert_job: one row, or none if there is one by this name
INSERT INTO jobs (id, collection, name, name_folded, document, sealed)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT DO NOTHING
