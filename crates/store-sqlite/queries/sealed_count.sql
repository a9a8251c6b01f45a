-- sealed_count: all jobs, where a server starts without its key file
SELECT count(*)
FROM jobs
WHERE sealed IS NOT NULL
