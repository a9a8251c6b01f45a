-- delete_sessions_of: sessions_by_caller
DELETE FROM sessions
WHERE caller = $1
