-- collections_by_ids_locked: the primary key, locked in its order
SELECT id
FROM collections
WHERE id = ANY ($1)
ORDER BY id
FOR UPDATE
