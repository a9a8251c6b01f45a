-- job_of_key: jobs_by_key, one entry
SELECT id
FROM jobs
WHERE sealed IS NOT NULL
    AND substring(sealed FROM 2 FOR 4) = $1
LIMIT 1
