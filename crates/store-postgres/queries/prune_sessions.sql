-- prune_sessions: the primary key, all rows, of which there are few
DELETE FROM sessions
WHERE id = ANY (ARRAY(
    SELECT id
    FROM sessions
    WHERE expires_at <= $1
        OR last_used_at <= $2
    ORDER BY id
    LIMIT $3
))
