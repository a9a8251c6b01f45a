-- copy_page: the next page of a table, by its key. Names in braces are put in from the catalogue
SELECT {columns}
FROM {table}
WHERE ({key}) > ({values})
ORDER BY {key}
LIMIT {limit}
