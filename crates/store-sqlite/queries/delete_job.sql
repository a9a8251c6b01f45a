-- delete_job: the primary key, one row
DELETE FROM jobs
WHERE id = ?1
