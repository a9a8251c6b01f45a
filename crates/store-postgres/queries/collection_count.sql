-- collection_count: collections_by_plan, covering
SELECT count(*)
FROM collections
WHERE subscription_folded = $1
    AND sku = $2
