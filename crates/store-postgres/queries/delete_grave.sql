-- delete_grave: the primary key, one row
DELETE FROM graves
WHERE job = $1
