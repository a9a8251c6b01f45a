-- collection_plan: collections_by_name
SELECT sku
FROM collections
WHERE subscription_folded = $1
    AND group_folded = $2
    AND name_folded = $3
