-- update_job: the primary key, one row
UPDATE jobs
SET document = $2,
    sealed = $3
WHERE id = $1
