-- claim: agenda_by_due in its order, then the primary keys. `whole` is whether the definition belongs to the revision: the update
-- sees the newest row, but jobs are read as they were when the statement began.
WITH claimed AS (
    UPDATE agenda
    SET holder = $3,
        ticket = $4
    WHERE EXISTS (SELECT 1 FROM nodes WHERE lease = $3)
        AND job = ANY (ARRAY(
            SELECT job
            FROM agenda
            WHERE due_at IS NOT NULL
                AND due_at <= $1
                AND (due_at, job) > ($5, $6)
                AND (
                    holder IS NULL
                    OR (
                        holder <= (SELECT last FROM numbers WHERE name = 'lease')
                        AND holder <> ALL (ARRAY(SELECT lease FROM nodes))
                    )
                )
                AND (job % $7 = $8 OR due_at <= $9 OR job = ANY ($10))
                AND target <> ALL ($11)
                AND job <> ALL ($12)
            ORDER BY due_at, job
            LIMIT $2
            FOR UPDATE SKIP LOCKED
        ))
    RETURNING *
)
SELECT
    a.job,
    j.name,
    j.document,
    j.sealed,
    c.subscription,
    c.group_name,
    c.name,
    a.due_at,
    a.nominal_at,
    a.cause,
    a.step,
    a.attempt,
    a.ordinal,
    a.floor_at,
    a.past_at,
    a.started_count,
    a.drop_count,
    a.last_failed,
    a.ended_at,
    a.runs,
    a.ahead,
    a.state,
    a.generation,
    a.put_at,
    a.execution_count,
    a.failure_count,
    a.faulted_count,
    a.last_started_at,
    a.revision,
    c.location,
    c.sku,
    o.revision = a.revision AS whole,
    j.collection
FROM claimed AS a
LEFT JOIN agenda AS o ON o.job = a.job
LEFT JOIN jobs AS j ON j.id = a.job
LEFT JOIN collections AS c ON c.id = j.collection
