-- session_settings: what holds for this connection
SELECT name, setting
FROM pg_settings
WHERE name = ANY ($1)
