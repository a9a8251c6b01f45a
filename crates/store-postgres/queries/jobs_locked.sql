-- jobs_locked: jobs_by_name and the primary keys; agenda is locked in the order of jobs
SELECT
    j.id,
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
    c.sku
FROM (
    SELECT id, collection, name, document, sealed
    FROM jobs
    WHERE collection = $1
    ORDER BY id
) AS j
INNER JOIN agenda AS a ON a.job = j.id
INNER JOIN collections AS c ON c.id = j.collection
ORDER BY a.job
FOR UPDATE OF a
