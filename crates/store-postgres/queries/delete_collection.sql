-- delete_collection: the primary key, one row
DELETE FROM collections
WHERE id = $1
