-- subscriptions: groups_by_name, one step for each subscription
WITH RECURSIVE found (folded) AS (
    SELECT min(subscription_folded)
    FROM groups
    UNION ALL
    SELECT (
        SELECT min(subscription_folded)
        FROM groups
        WHERE subscription_folded > found.folded
    )
    FROM found
    WHERE found.folded IS NOT NULL
)
SELECT (
    SELECT subscription
    FROM groups
    WHERE subscription_folded = found.folded
    ORDER BY name_folded
    LIMIT 1
)
FROM found
WHERE found.folded IS NOT NULL
LIMIT $1
