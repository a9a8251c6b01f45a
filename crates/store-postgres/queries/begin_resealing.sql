-- begin_resealing: the one row
INSERT INTO resealing (id, key, after_job, until_job, visited_count, done)
VALUES (1, $1, 0, $2, 0, $3)
ON CONFLICT (id) DO UPDATE SET key = $1, after_job = 0, until_job = $2, visited_count = 0, done = $3
