-- entry: the primary key
SELECT
    due_at,
    target,
    revision
FROM agenda
WHERE job = ?1
