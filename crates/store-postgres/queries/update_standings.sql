-- update_standings: the primary key, in the order of the jobs. Holder and ticket are those of a claim that was taken back.
UPDATE agenda AS a
SET due_at = u.due_at,
    target = u.target,
    nominal_at = u.nominal_at,
    cause = u.cause,
    step = u.step,
    attempt = u.attempt,
    ordinal = u.ordinal,
    floor_at = u.floor_at,
    past_at = u.past_at,
    started_count = u.started_count,
    drop_count = u.drop_count,
    last_failed = u.last_failed,
    ended_at = u.ended_at,
    runs = u.runs,
    ahead = u.ahead,
    state = u.state,
    execution_count = u.execution_count,
    failure_count = u.failure_count,
    faulted_count = u.faulted_count,
    last_started_at = u.last_started_at,
    generation = u.generation,
    put_at = u.put_at,
    revision = u.revision + 1,
    holder = CASE WHEN a.holder = u.holder AND a.ticket = u.ticket THEN NULL ELSE a.holder END
FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26)
    AS u (job, due_at, target, nominal_at, cause, step, attempt, ordinal, floor_at, past_at, started_count, drop_count, last_failed, ended_at, runs, ahead, state, execution_count, failure_count, faulted_count, last_started_at, generation, put_at, revision, holder, ticket)
WHERE a.job = u.job
    AND a.revision = u.revision
RETURNING a.job, a.holder
