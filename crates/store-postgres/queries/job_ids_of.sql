-- job_ids_of: jobs_by_name and the primary key; agenda is locked in the order of jobs
SELECT
    a.job,
    a.trace_count
FROM (
    SELECT id
    FROM jobs
    WHERE collection = ANY ($1)
    ORDER BY id
) AS j
INNER JOIN agenda AS a ON a.job = j.id
ORDER BY a.job
FOR UPDATE OF a
