-- session_count: one number
SELECT count(*)
FROM sessions
