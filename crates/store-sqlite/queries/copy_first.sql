-- copy_first: the first page of a table, by its key. Names in braces are put in from the catalogue
SELECT {columns}
FROM {table}
ORDER BY {key}
LIMIT {limit}
