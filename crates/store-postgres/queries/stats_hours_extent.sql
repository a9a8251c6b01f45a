-- stats_hours_extent: both ends of stats_hours_by_time
SELECT
    (SELECT min(begins_at) FROM stats_hours),
    (SELECT max(begins_at) FROM stats_hours)
