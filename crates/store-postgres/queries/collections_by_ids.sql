-- collections_by_ids: the primary key
SELECT
    id,
    subscription,
    group_name,
    name,
    document,
    revision
FROM collections
WHERE id = ANY ($1)
