-- copy_insert: one row. Names in braces are put in from the catalogue
INSERT INTO {table} ({columns})
VALUES ({values})
