-- delete_server_secrets: all of the few rows
DELETE FROM server_secrets
