-- delete_surplus_sessions: sessions_by_caller, all of a caller but the ones used last
DELETE FROM sessions
WHERE id = ANY (ARRAY(
    SELECT id
    FROM sessions
    WHERE caller = $1
        AND issuer = $2
    ORDER BY last_used_at DESC
    OFFSET $3
))
