-- server_secrets: all of the few rows
SELECT name, sealed
FROM server_secrets
ORDER BY name
LIMIT 1000
