-- jobs_by_ids: the primary keys
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
    c.sku,
    a.holder,
    a.ticket
FROM agenda AS a
INNER JOIN jobs AS j ON j.id = a.job
INNER JOIN collections AS c ON c.id = j.collection
WHERE a.job = ANY ($1)
