-- record_count: history_by_start, covering
SELECT count(*)
FROM history
WHERE job = $1
