-- delete_standing: the primary key, one row
DELETE FROM agenda
WHERE job = ?1
