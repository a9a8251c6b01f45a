-- job_count_of: jobs_by_name, covering
SELECT count(*)
FROM jobs
WHERE collection = ?1
