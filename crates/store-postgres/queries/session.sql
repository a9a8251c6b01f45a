-- session: sessions_by_hash, one row or none
SELECT
    id,
    hash,
    holder,
    created_at,
    last_used_at,
    expires_at
FROM sessions
WHERE hash = $1
