-- schema_version_locked: the one row, for whoever migrates
SELECT version, min_version
FROM schema_version
WHERE id = 1
FOR UPDATE
