-- stats_minute: the primary key
SELECT counts
FROM stats_minutes
WHERE collection = ?1
    AND begins_at = ?2
    AND writer = 0
