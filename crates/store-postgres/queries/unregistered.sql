-- unregistered: the primary key
SELECT count(*)
FROM unregistered
WHERE subscription = $1
