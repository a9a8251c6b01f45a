-- save_counters: the one row
UPDATE counters
SET sequence = ?1,
    revision = ?2,
    job_count = ?3
WHERE id = 1
