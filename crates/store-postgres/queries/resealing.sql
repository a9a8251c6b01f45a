-- resealing: the one row
SELECT key, after_job, until_job, visited_count, done
FROM resealing
WHERE id = 1
