-- delete_collections: the primary key; the rows are locked already
DELETE FROM collections
WHERE id = ANY ($1)
