-- delete_stats_minutes: the primary key
DELETE FROM stats_minutes
WHERE collection = ?1
    AND begins_at = ?2
