-- insert_collection: one row, or none if there is one by this name
INSERT INTO collections (
    subscription,
    subscription_folded,
    group_name,
    group_folded,
    name,
    name_folded,
    location,
    sku,
    document,
    revision,
    job_count
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0)
ON CONFLICT (subscription_folded, group_folded, name_folded) DO NOTHING
