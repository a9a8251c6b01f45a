-- prune_sessions: all rows, of which there are few
DELETE FROM sessions
WHERE id IN (
    SELECT id
    FROM sessions
    WHERE expires_at <= ?1 OR last_used_at <= ?2
    LIMIT ?3
)
