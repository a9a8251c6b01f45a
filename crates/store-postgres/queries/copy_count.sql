-- copy_count: all rows of a table. Names in braces are put in from the catalogue
SELECT count(*)
FROM {table}
