-- prune_reruns: reruns_by_run, so many rows
DELETE FROM reruns
WHERE (job, run_at) IN (
    SELECT job, run_at
    FROM reruns
    WHERE run_at < ?1
    ORDER BY run_at
    LIMIT ?2
)
