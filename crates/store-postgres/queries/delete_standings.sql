-- delete_standings: the primary key; the rows are locked already
DELETE FROM agenda
WHERE job = ANY ($1)
