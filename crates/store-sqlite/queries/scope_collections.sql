-- scope_collections: collections_by_name, covering
SELECT id
FROM collections
WHERE subscription_folded = ?1
    AND (?2 IS NULL OR group_folded = ?2)
    AND (?3 IS NULL OR name_folded = ?3)
LIMIT ?4
