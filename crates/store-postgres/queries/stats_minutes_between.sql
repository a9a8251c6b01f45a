-- stats_minutes_between: the primary key
SELECT
    begins_at,
    counts
FROM stats_minutes
WHERE collection = ANY ($1)
    AND begins_at >= $2
    AND begins_at < $3
LIMIT $4
