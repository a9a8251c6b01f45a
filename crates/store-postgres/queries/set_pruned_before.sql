-- set_pruned_before: the one row, if it is later
UPDATE counters
SET pruned_before = $1
WHERE id = 1
    AND (pruned_before IS NULL OR pruned_before < $1)
