-- recent_skips: skips_by_job, its end first
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
ORDER BY first_at DESC
LIMIT ?2
