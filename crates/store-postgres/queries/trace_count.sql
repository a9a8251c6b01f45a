-- trace_count: the primary key
SELECT trace_count
FROM agenda
WHERE job = $1
