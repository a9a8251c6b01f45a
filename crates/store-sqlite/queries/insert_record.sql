-- insert_record: one row, or none if the attempt is recorded
INSERT INTO history (
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
    kind,
    message
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
ON CONFLICT (job, nominal_at, cause, step, attempt, generation, kind) DO NOTHING
