-- group: groups_by_name
SELECT
    subscription,
    name,
    location,
    tags,
    created_at
FROM groups
WHERE subscription_folded = $1
    AND name_folded = $2
