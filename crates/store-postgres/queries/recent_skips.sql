-- recent_skips: skips_by_job, the end of each job first
SELECT
    s.job,
    s.generation,
    s.first_at,
    s.last_at,
    s.occurrence_count,
    s.reason,
    s.decided_at
FROM unnest($1) AS u (job)
CROSS JOIN LATERAL (
    SELECT *
    FROM skips
    WHERE skips.job = u.job
    ORDER BY skips.first_at DESC
    LIMIT $2
) AS s
