-- survey_orphans: the primary keys, rows of the agenda without a job
SELECT
    a.job,
    ''::text,
    0::bigint,
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
    coalesce(a.holder = ANY (ARRAY(SELECT lease FROM nodes)), FALSE) AS claimed
FROM agenda AS a
WHERE a.job > $1
    AND a.job <= $2
    AND NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = a.job)
ORDER BY a.job
LIMIT $3
