-- survey_record: history_by_start
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
WHERE sequence = $1
    AND job = $2
