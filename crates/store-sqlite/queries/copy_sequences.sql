-- copy_sequences: the last ids that were given, by table, for the few tables that never give one again
SELECT
    t.name,
    coalesce(s.seq, 0)
FROM sqlite_schema AS t
LEFT JOIN sqlite_sequence AS s ON s.name = t.name
WHERE t.type = 'table'
    AND t.sql LIKE '%AUTOINCREMENT%'
LIMIT 100000
