-- job_ids: jobs_by_name
SELECT
    j.id,
    a.trace_count
FROM jobs AS j
CROSS JOIN agenda AS a ON a.job = j.id
WHERE j.collection = ?1
ORDER BY j.name_folded
