-- job_standing: jobs_by_name
SELECT
    j.id,
    j.name,
    a.revision,
    a.due_at,
    a.target,
    a.trace_count
FROM jobs AS j
CROSS JOIN agenda AS a ON a.job = j.id
WHERE j.collection = ?1
    AND j.name_folded = ?2
