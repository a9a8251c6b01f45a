-- survey_traces: history_by_start, in its order
SELECT
    started_at,
    sequence,
    generation,
    ordinal,
    step,
    status
FROM history
WHERE job = $1
    AND (started_at, sequence) < ($2, $3)
ORDER BY started_at DESC, sequence DESC
LIMIT $4
