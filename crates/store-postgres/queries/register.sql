-- register: the primary key, one row or none
DELETE FROM unregistered
WHERE subscription = $1
