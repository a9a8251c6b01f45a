-- insert_server_secret: one row, or none if there is one by this name
INSERT INTO server_secrets (name, sealed)
VALUES ($1, $2)
ON CONFLICT DO NOTHING
