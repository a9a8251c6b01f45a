-- sessions: the primary key, in its order
SELECT
    id,
    hash,
    holder,
    created_at,
    last_used_at,
    expires_at
FROM sessions
WHERE id > $1
ORDER BY id
LIMIT $2
