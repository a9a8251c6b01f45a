-- groups: groups_by_name, in its order
SELECT
    subscription,
    name,
    location,
    tags,
    created_at
FROM groups
WHERE subscription_folded = $1
ORDER BY name_folded
LIMIT $2
