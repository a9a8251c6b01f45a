-- update_token: the primary key, one row or none
UPDATE tokens
SET
    hash = $2,
    grants = $3,
    expires_at = $4,
    last_used_at = $5
WHERE id = $1
