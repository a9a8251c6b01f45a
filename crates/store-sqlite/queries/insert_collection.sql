-- insert_collection: one row
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
    revision
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
