-- stats_minutes_extent: both ends of stats_minutes_by_time
SELECT
    (SELECT min(begins_at) FROM stats_minutes),
    (SELECT max(begins_at) FROM stats_minutes)
