-- next_job_key: jobs_by_key, its next entry
SELECT substr(sealed, 2, 4)
FROM jobs
WHERE sealed IS NOT NULL
    AND substr(sealed, 2, 4) > ?1
ORDER BY substr(sealed, 2, 4)
LIMIT 1
