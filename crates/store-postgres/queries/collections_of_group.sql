-- collections_of_group: collections_by_name, in its order
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
    AND name_folded > $3
ORDER BY name_folded
LIMIT $4
