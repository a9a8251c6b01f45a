-- set_schema_version: the one row
UPDATE schema_version
SET version = $1
WHERE id = 1
