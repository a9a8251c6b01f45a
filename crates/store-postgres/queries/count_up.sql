-- count_up: the primary key, one row; it stays locked
UPDATE numbers
SET last = last + 1
WHERE name = $1
RETURNING last
