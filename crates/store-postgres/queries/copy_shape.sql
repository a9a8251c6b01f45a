-- copy_shape: the few tables and their columns
SELECT
    c.relname::text,
    a.attname::text,
    t.typname::text,
    a.attidentity <> ''
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid
JOIN pg_type AS t ON t.oid = a.atttypid
WHERE n.nspname = current_schema()
    AND c.relkind IN ('r', 'p')
    AND a.attnum > 0
    AND NOT a.attisdropped
ORDER BY
    c.relname,
    a.attnum
LIMIT 100000
