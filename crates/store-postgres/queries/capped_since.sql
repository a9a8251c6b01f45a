-- capped_since: the primary key and history_by_start, the oldest record left of a job that had too many
SELECT h.started_at
FROM agenda AS a
INNER JOIN history AS h ON h.job = a.job
WHERE a.job = $1
    AND a.capped_generation > 0
ORDER BY h.started_at
LIMIT 1
