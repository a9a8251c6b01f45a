-- set_number: the primary key, one row, which is locked already
UPDATE numbers
SET last = $2
WHERE name = $1
