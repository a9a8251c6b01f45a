-- insert_group: one row, or none if the group exists
INSERT INTO groups (subscription, subscription_folded, name, name_folded, location, tags, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (subscription_folded, name_folded) DO NOTHING
