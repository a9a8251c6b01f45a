-- schema_version: the one row
SELECT version, min_version
FROM schema_version
WHERE id = 1
