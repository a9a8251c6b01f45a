-- recorded: history_by_attempt; which of these attempts are recorded
SELECT r.place
FROM unnest($1, $2, $3, $4, $5, $6, $7)
    WITH ORDINALITY AS r (job, nominal_at, cause, step, attempt, generation, kind, place)
WHERE EXISTS (
    SELECT 1
    FROM history AS h
    WHERE h.job = r.job
        AND h.nominal_at = r.nominal_at
        AND h.cause = r.cause
        AND h.step = r.step
        AND h.attempt = r.attempt
        AND h.generation = r.generation
        AND h.kind = r.kind
)
