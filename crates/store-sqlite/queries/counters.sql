-- counters: the one row
SELECT
    sequence,
    revision,
    key_check
FROM counters
WHERE id = 1
