-- old_stats_minutes: stats_minutes_by_time, covering, in its order
SELECT
    collection,
    begins_at
FROM stats_minutes
WHERE begins_at < ?1
ORDER BY begins_at
LIMIT ?2
