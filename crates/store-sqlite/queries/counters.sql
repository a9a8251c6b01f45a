-- counters: the one row
SELECT
    sequence,
    revision,
    key_check,
    job_count
FROM counters
WHERE id = 1
