-- due: agenda_by_due, covering, in its order, read as far as wanted
SELECT
    due_at,
    job,
    target
FROM agenda
WHERE due_at > ?1
ORDER BY due_at, job
LIMIT ?2
