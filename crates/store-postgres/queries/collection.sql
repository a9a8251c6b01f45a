-- collection: collections_by_name
SELECT
    id,
    subscription,
    group_name,
    name,
    document,
    revision
FROM collections
WHERE subscription_folded = $1
    AND group_folded = $2
    AND name_folded = $3
