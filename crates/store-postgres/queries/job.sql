-- job: collections_by_name, jobs_by_name
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
FROM collections AS c
INNER JOIN jobs AS j ON j.collection = c.id
INNER JOIN agenda AS a ON a.job = j.id
WHERE c.subscription_folded = $1
    AND c.group_folded = $2
    AND c.name_folded = $3
    AND j.name_folded = $4
