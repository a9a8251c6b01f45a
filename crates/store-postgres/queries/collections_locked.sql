-- collections_locked: collections_by_name; they are locked in the order of their ids
SELECT id
FROM collections
WHERE subscription_folded = $1
    AND group_folded = $2
ORDER BY id
FOR UPDATE
