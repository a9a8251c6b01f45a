-- copy_begin: one row. While it is there no node starts
INSERT INTO numbers (name, last)
VALUES ('copying', $1)
