-- server_version: no table
SELECT 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1)
