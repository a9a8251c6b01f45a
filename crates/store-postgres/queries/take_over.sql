-- take_over: the primary key, one row, or none if it has renewed since
DELETE FROM nodes
WHERE lease = $1
    AND beat = $2
