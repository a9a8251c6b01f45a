-- marks: the primary key, in its order: a scan of the narrow table in pieces, run by a reader
SELECT
    job,
    past_at,
    floor_at,
    put_at,
    ended_at,
    due_at,
    nominal_at,
    cause,
    step,
    attempt,
    ordinal
FROM agenda
WHERE job > $1
ORDER BY job
LIMIT $2
