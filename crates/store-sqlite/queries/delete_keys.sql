-- delete_keys: all of the few rows
DELETE FROM keys
