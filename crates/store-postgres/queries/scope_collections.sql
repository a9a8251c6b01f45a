-- scope_collections: collections_by_name
SELECT id
FROM collections
WHERE subscription_folded = $1
    AND ($2::text IS NULL OR group_folded = $2)
    AND ($3::text IS NULL OR name_folded = $3)
LIMIT $4
