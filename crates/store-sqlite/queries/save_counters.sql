-- save_counters: the one row
UPDATE counters
SET sequence = ?1,
    revision = ?2
WHERE id = 1
