-- records_between: history_by_attempt, in its order, an orphaned record is not shown
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
    AND nominal_at BETWEEN $2 AND $3
    AND EXISTS (SELECT 1 FROM agenda AS a WHERE a.job = $1)
ORDER BY nominal_at, cause, step, attempt, generation, kind
LIMIT $4
