-- set_key_check: the one row
UPDATE counters
SET key_check = $1
WHERE id = 1
