-- number_locked: the primary key, one row
SELECT last
FROM numbers
WHERE name = $1
FOR UPDATE
