-- prune_stats_hours: stats_hours_by_time in its order
DELETE FROM stats_hours
WHERE ctid = ANY (ARRAY(
        SELECT ctid
        FROM stats_hours
        WHERE begins_at < $1
        ORDER BY begins_at
        LIMIT $2
    ))
