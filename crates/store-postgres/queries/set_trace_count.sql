-- set_trace_count: the primary key, one row or none
UPDATE agenda
SET trace_count = $2
WHERE job = $1
