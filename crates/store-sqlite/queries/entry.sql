-- entry: the primary key
SELECT
    due_at,
    target
FROM agenda
WHERE job = ?1
