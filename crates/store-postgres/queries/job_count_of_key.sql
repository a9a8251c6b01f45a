-- job_count_of_key: jobs_by_key, all entries of the key
SELECT count(*)
FROM jobs
WHERE sealed IS NOT NULL
    AND substring(sealed FROM 2 FOR 4) = $1
