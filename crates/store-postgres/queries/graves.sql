-- graves: the primary key
SELECT job
FROM graves
ORDER BY job
LIMIT $1
