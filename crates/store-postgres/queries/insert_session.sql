-- insert_session: one row
INSERT INTO sessions (id, hash, caller, issuer, holder, created_at, last_used_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
