-- discount_jobs: the primary key, in its order
UPDATE collections AS c
SET job_count = c.job_count - u.job_count
FROM unnest($1, $2) AS u (id, job_count)
WHERE c.id = u.id
