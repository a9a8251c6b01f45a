-- key_check: the one row, of any version of the schema
SELECT key_check
FROM counters
WHERE id = 1
