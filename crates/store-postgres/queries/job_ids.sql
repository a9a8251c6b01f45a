-- job_ids: the first of the next ids
SELECT nextval('job_ids')
