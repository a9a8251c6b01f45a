-- put_stats_hour: the primary key
INSERT INTO stats_hours (collection, begins_at, counts)
VALUES (?1, ?2, ?3)
ON CONFLICT (collection, begins_at) DO UPDATE SET counts = excluded.counts
