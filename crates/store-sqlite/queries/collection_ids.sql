-- collection_ids: collections_by_name, covering
SELECT id
FROM collections
WHERE subscription_folded = ?1
    AND group_folded = ?2
ORDER BY name_folded
