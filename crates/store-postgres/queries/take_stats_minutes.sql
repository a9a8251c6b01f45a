-- take_stats_minutes: stats_minutes_by_time in its order
DELETE FROM stats_minutes
WHERE ctid = ANY (ARRAY(
        SELECT ctid
        FROM stats_minutes
        WHERE begins_at < $1
        ORDER BY begins_at
        LIMIT $2
    ))
RETURNING collection, begins_at, counts
