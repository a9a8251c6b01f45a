-- tried_at: history_by_attempt, one row or none
SELECT ended_at
FROM history
WHERE job = $1
    AND nominal_at = $2
    AND cause = $3
    AND step = $4
    AND attempt = $5
    AND generation = $6
    AND kind = 0
