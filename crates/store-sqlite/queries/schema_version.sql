-- schema_version: the primary key
SELECT coalesce(max(version), 0)
FROM schema_version
