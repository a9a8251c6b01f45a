-- job_count_now: how many jobs there are, as counted by each write, one row
SELECT job_count
FROM counters
WHERE id = 1
