-- job_locked: jobs_by_name, the primary key
SELECT
    j.id,
    j.name,
    a.revision
FROM jobs AS j
INNER JOIN agenda AS a ON a.job = j.id
WHERE j.collection = $1
    AND j.name_folded = $2
FOR UPDATE OF a
