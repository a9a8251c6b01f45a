-- old_stats_hours: stats_hours_by_time, covering, in its order
SELECT
    collection,
    begins_at
FROM stats_hours
WHERE begins_at < ?1
ORDER BY begins_at
LIMIT ?2
