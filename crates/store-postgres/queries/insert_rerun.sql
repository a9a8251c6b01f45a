-- insert_rerun: the primary key, one row
INSERT INTO reruns (job, run_at, of_at)
VALUES ($1, $2, $3)
