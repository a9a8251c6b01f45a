-- try_write: the one row, written as it is
UPDATE counters
SET sequence = sequence
WHERE id = 1
