-- ended: agenda_by_end, in its order
SELECT
    job,
    trace_count
FROM agenda
WHERE ended_at < ?1
    AND due_at IS NULL
ORDER BY ended_at, job
LIMIT ?2
