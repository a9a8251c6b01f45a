-- update_group: groups_by_name, one row
UPDATE groups
SET location = $3,
    tags = $4
WHERE subscription_folded = $1
    AND name_folded = $2
