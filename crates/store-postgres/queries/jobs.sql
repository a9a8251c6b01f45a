-- jobs: collections_by_name, jobs_by_name in its order
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
FROM jobs AS j
INNER JOIN agenda AS a ON a.job = j.id
INNER JOIN collections AS c ON c.id = j.collection
WHERE j.collection = (
        SELECT id
        FROM collections
        WHERE subscription_folded = $1
            AND group_folded = $2
            AND name_folded = $3
    )
    AND ($4::smallint IS NULL OR a.state = $4)
    AND j.name_folded > $5
ORDER BY j.name_folded
LIMIT $6
OFFSET $7
