-- skips: skips_by_job, in its order, an orphaned skip is not shown. Skips of a job do not overlap but where a
-- clock went wrong, so that only the last few that begin before the range can reach into it: the others are not
-- read, however many there are.
SELECT
    job,
    generation,
    first_at,
    last_at,
    occurrence_count,
    reason,
    decided_at
FROM skips
WHERE job = $1
    AND first_at >= coalesce(
        (
            SELECT s.first_at
            FROM skips AS s
            WHERE s.job = $1
                AND s.first_at < $2
            ORDER BY s.first_at DESC
            LIMIT 1 OFFSET 63
        ),
        -9223372036854775807
    )
    AND first_at <= $3
    AND last_at >= $2
    AND EXISTS (SELECT 1 FROM agenda AS a WHERE a.job = $1)
ORDER BY first_at, id
LIMIT $4
