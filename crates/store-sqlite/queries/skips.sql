-- skips: skips_by_job, in its order, an orphaned skip is not shown
SELECT
    job,
    generation,
    first_at,
    last_at,
    occurrence_count,
    reason,
    decided_at
FROM skips
WHERE job = ?1
    AND first_at <= ?3
    AND last_at >= ?2
    AND EXISTS (SELECT 1 FROM agenda AS a WHERE a.job = ?1)
ORDER BY first_at, id
LIMIT ?4
