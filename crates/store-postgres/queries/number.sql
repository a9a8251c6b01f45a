-- number: the primary key
SELECT last
FROM numbers
WHERE name = $1
