-- sweep_skips: skips_by_job, at most ?2 rows
DELETE FROM skips
WHERE id IN (
    SELECT id
    FROM skips
    WHERE job = ?1
    LIMIT ?2
)
