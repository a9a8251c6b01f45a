-- survey_collections: the primary key, in its order
SELECT
    id,
    subscription,
    group_name,
    name,
    document,
    revision
FROM collections
WHERE id > $1
ORDER BY id
LIMIT $2
