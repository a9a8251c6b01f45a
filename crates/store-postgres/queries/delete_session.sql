-- delete_session: the primary key, one row or none
DELETE FROM sessions
WHERE id = $1
