-- note_token_use: the primary key, one row or none
UPDATE tokens
SET last_used_at = ?2
WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)
