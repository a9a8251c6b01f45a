-- collection_shared: collections_by_name; nobody deletes or rewrites it meanwhile, others may count jobs
SELECT id, subscription, group_name, name, revision
FROM collections
WHERE subscription_folded = $1
    AND group_folded = $2
    AND name_folded = $3
FOR KEY SHARE
