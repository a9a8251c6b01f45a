-- stats_hour: the primary key
SELECT counts
FROM stats_hours
WHERE collection = ?1
    AND begins_at = ?2
