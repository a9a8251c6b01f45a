-- copy_last: the last row of a table, by its key. Names in braces are put in from the catalogue
SELECT {columns}
FROM {table}
ORDER BY {descending}
LIMIT 1
