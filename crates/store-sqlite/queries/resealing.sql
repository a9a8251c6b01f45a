-- resealing: the one row
SELECT
    r.key,
    r.after_job,
    r.until_job,
    r.visited_count,
    r.done,
    c.job_count
FROM counters AS c
CROSS JOIN resealing AS r ON r.id = 1
WHERE c.id = 1
