-- server_secret: its primary key
SELECT sealed
FROM server_secrets
WHERE name = $1
