-- insert_token: one row, or none if the id, the name or the secret exists
INSERT INTO tokens (id, name, name_folded, hash, grants, created_at, expires_at, last_used_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT DO NOTHING
