-- set_schema_version: one row
INSERT INTO schema_version (version, name)
VALUES (?1, ?2)
