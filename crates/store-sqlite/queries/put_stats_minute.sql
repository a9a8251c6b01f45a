-- put_stats_minute: the primary key
INSERT INTO stats_minutes (collection, begins_at, writer, counts)
VALUES (?1, ?2, 0, ?3)
ON CONFLICT (collection, begins_at, writer) DO UPDATE SET counts = excluded.counts
