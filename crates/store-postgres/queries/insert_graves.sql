-- insert_graves: one row for each job
INSERT INTO graves (job)
SELECT job
FROM unnest($1) AS u (job)
ON CONFLICT (job) DO NOTHING
