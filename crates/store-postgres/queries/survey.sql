-- survey: the primary keys, a job that has lost its row of the agenda included
SELECT
    j.id,
    j.name,
    j.collection,
    a.job,
    a.capped_generation,
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
    coalesce(a.holder = ANY (ARRAY(SELECT lease FROM nodes)), FALSE) AS claimed,
    j.document,
    j.sealed
FROM jobs AS j
LEFT JOIN agenda AS a ON a.job = j.id
WHERE j.id > $1
ORDER BY j.id
LIMIT $2
