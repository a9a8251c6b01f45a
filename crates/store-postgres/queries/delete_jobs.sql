-- delete_jobs: the primary key
DELETE FROM jobs
WHERE id = ANY ($1)
