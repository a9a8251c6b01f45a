-- leave: the primary key, one row or none
DELETE FROM nodes
WHERE lease = $1
