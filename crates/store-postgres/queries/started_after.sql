-- started_after: history_by_attempt, covering, in its order
SELECT DISTINCT nominal_at
FROM history
WHERE job = $1
    AND nominal_at > $2
    AND cause = $3
    AND generation = $4
    AND kind = 0
ORDER BY nominal_at
LIMIT $5
