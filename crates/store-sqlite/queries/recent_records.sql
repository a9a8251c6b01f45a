-- recent_records: history_by_attempt, its end first
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
    substr(message, 1, 400) AS message
FROM history
WHERE job = ?1
ORDER BY nominal_at DESC
LIMIT ?2
