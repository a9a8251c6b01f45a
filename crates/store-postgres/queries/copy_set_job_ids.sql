-- copy_set_job_ids: the 64 ids from here on are given already
SELECT setval('job_ids', $1)
