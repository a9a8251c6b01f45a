-- trace_count_locked: the primary key, one row or none
SELECT trace_count
FROM agenda
WHERE job = $1
FOR UPDATE
