-- count_token: the primary key, one row or none if there are as many as there may be; it stays locked
UPDATE numbers
SET last = last + $1
WHERE name = 'tokens'
    AND last + $1 <= $2
RETURNING last
