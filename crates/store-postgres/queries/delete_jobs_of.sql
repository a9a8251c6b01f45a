-- delete_jobs_of: jobs_by_name
DELETE FROM jobs
WHERE collection = ANY ($1)
