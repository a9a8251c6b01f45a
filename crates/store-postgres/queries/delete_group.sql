-- delete_group: groups_by_name, one row or none
DELETE FROM groups
WHERE subscription_folded = $1
    AND name_folded = $2
