-- collections: collections_by_name, in its order
SELECT
    id,
    subscription,
    group_name,
    name,
    document,
    revision
FROM collections
WHERE subscription_folded = $1
    AND (group_folded, name_folded) > ($2, $3)
ORDER BY group_folded, name_folded
LIMIT $4
