-- copy_count_jobs: all collections, once
UPDATE collections AS c
SET job_count = (SELECT count(*) FROM jobs AS j WHERE j.collection = c.id)
