-- count_traces: the primary key; the rows are locked already
UPDATE agenda AS a
SET trace_count = a.trace_count + u.trace_count
FROM unnest($1, $2) AS u (job, trace_count)
WHERE a.job = u.job
