-- next_job_key: jobs_by_key, its next entry
SELECT substring(sealed FROM 2 FOR 4)
FROM jobs
WHERE sealed IS NOT NULL
    AND substring(sealed FROM 2 FOR 4) > $1
ORDER BY substring(sealed FROM 2 FOR 4)
LIMIT 1
