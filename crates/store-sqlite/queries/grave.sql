-- grave: the primary key, one row or none
SELECT job
FROM graves
ORDER BY job
LIMIT 1
