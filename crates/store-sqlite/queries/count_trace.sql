-- count_trace: the primary key, one row
UPDATE agenda
SET trace_count = trace_count + 1
WHERE job = ?1
