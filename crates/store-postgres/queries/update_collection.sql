-- update_collection: the primary key, one row
UPDATE collections
SET location = $2,
    sku = $3,
    document = $4,
    revision = $5
WHERE id = $1
