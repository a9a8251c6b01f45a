-- pruned_before: the one row
SELECT pruned_before
FROM counters
WHERE id = 1
