-- copy_complete: the primary key
DELETE FROM numbers
WHERE name = 'copying'
