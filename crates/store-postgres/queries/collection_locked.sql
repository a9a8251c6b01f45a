-- collection_locked: collections_by_name, one row or none
SELECT
    id,
    subscription,
    group_name,
    name,
    document,
    revision,
    sku,
    job_count
FROM collections
WHERE subscription_folded = $1
    AND group_folded = $2
    AND name_folded = $3
FOR UPDATE
