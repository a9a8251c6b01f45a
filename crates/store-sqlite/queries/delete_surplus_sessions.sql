-- delete_surplus_sessions: sessions_by_caller: all of a caller but the ones used last
DELETE FROM sessions
WHERE id IN (
    SELECT id
    FROM sessions
    WHERE caller = ?1 AND issuer = ?2
    ORDER BY last_used_at DESC
    LIMIT -1 OFFSET ?3
)
