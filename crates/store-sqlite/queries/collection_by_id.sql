-- collection_by_id: the primary key
SELECT
    id,
    subscription,
    group_name,
    name,
    document,
    revision
FROM collections
WHERE id = ?1
