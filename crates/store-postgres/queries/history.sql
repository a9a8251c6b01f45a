-- history: history_by_start, in its order, an orphaned record is not shown
SELECT
    sequence,
    job,
    generation,
    nominal_at,
    cause,
    step,
    attempt,
    ordinal,
    started_at,
    ended_at,
    status,
    message
FROM history
WHERE job = $1
    AND (started_at, sequence) < ($2, $3)
    AND (($4 >> status) & 1) = 1
    AND EXISTS (SELECT 1 FROM agenda AS a WHERE a.job = $1)
ORDER BY started_at DESC, sequence DESC
LIMIT $5
OFFSET $6
