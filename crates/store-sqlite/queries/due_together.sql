-- due_together: agenda_by_due, covering, in its order
SELECT
    due_at,
    job,
    target
FROM agenda
WHERE due_at = ?1
    AND job > ?2
ORDER BY job
LIMIT ?3
