-- number_shared: the primary key, one row
SELECT last
FROM numbers
WHERE name = $1
FOR SHARE
