-- keys: all of the few rows
SELECT id, seal
FROM keys
ORDER BY id
LIMIT 100000
