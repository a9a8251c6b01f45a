-- copy_highest: the highest number of a column. Names in braces are put in from the catalogue
SELECT max({column})
FROM {table}
