-- has_counters: whether the table of the counters is there
SELECT count(*)
FROM sqlite_schema
WHERE type = 'table'
    AND name = 'counters'
