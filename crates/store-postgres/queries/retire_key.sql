-- retire_key: its primary key, one row or none if it is retired
UPDATE keys
SET seal = NULL
WHERE id = $1
    AND seal IS NOT NULL
