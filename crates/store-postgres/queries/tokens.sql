-- tokens: tokens_by_name, in its order
SELECT
    id,
    name,
    hash,
    grants,
    created_at,
    expires_at,
    last_used_at
FROM tokens
ORDER BY name_folded
LIMIT $1
