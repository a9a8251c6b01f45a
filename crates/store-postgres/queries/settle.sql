-- settle: the primary keys, in the order of the jobs; records and skips of those that were settled
WITH settled AS (
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
        revision = u.revision + 1,
        trace_count = a.trace_count + u.trace_count,
        holder = NULL
    FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)
        AS u (job, due_at, target, nominal_at, cause, step, attempt, ordinal, floor_at, past_at, started_count, drop_count, last_failed, ended_at, runs, ahead, state, execution_count, failure_count, faulted_count, last_started_at, revision, trace_count, holder, ticket)
    WHERE a.job = u.job
        AND a.revision = u.revision
        AND a.holder = u.holder
        AND a.ticket = u.ticket
    RETURNING a.job
),
recorded AS (
    INSERT INTO history (job, generation, nominal_at, cause, step, attempt, ordinal, started_at, ended_at, status, kind, message)
    SELECT r.job, r.generation, r.nominal_at, r.cause, r.step, r.attempt, r.ordinal, r.started_at, r.ended_at, r.status, r.kind, r.message
    FROM unnest($26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37)
        WITH ORDINALITY AS r (job, generation, nominal_at, cause, step, attempt, ordinal, started_at, ended_at, status, kind, message, place)
    -- IS TRUE keeps it from becoming a join: it is looked up in a hash table.
    WHERE (r.job IN (SELECT job FROM settled)) IS TRUE
    ORDER BY r.place
    ON CONFLICT DO NOTHING
),
skipped AS (
    INSERT INTO skips (job, generation, first_at, last_at, occurrence_count, reason, decided_at)
    SELECT k.job, k.generation, k.first_at, k.last_at, k.occurrence_count, k.reason, k.decided_at
    FROM unnest($38, $39, $40, $41, $42, $43, $44)
        WITH ORDINALITY AS k (job, generation, first_at, last_at, occurrence_count, reason, decided_at, place)
    WHERE (k.job IN (SELECT job FROM settled)) IS TRUE
    ORDER BY k.place
),
-- Whole rows of this writer alone, which are right if all were settled; else they are written with its next batch.
counted AS (
    INSERT INTO stats_minutes (collection, begins_at, writer, counts)
    SELECT t.collection, t.begins_at, $48, t.counts
    FROM unnest($45, $46, $47) AS t (collection, begins_at, counts)
    WHERE (SELECT count(*) FROM settled) = $49
    ON CONFLICT (collection, begins_at, writer) DO UPDATE SET counts = excluded.counts
)
SELECT job
FROM settled
