-- delete_stats_hours: the primary key
DELETE FROM stats_hours
WHERE collection = ?1
    AND begins_at = ?2
