-- set_server_secret: its primary key
UPDATE server_secrets
SET sealed = $2
WHERE name = $1
