-- copy_shape: the few tables and their columns
SELECT
    t.name,
    c.name,
    c.type
FROM sqlite_schema AS t
CROSS JOIN pragma_table_info(t.name) AS c
WHERE t.type = 'table'
    AND t.name NOT LIKE 'sqlite~_%' ESCAPE '~'
ORDER BY
    t.name,
    c.cid
LIMIT 100000
