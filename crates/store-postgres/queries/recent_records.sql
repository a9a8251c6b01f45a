-- recent_records: history_by_attempt, the end of each job first
SELECT
    h.sequence,
    h.job,
    h.generation,
    h.nominal_at,
    h.cause,
    h.step,
    h.attempt,
    h.ordinal,
    h.started_at,
    h.ended_at,
    h.status,
    h.message
FROM unnest($1) AS u (job)
CROSS JOIN LATERAL (
    SELECT *
    FROM history
    WHERE history.job = u.job
    ORDER BY history.nominal_at DESC
    LIMIT $2
) AS h
