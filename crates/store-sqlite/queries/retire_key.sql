-- retire_key: its primary key
UPDATE keys
SET seal = NULL
WHERE id = ?1
