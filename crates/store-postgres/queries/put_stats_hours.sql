-- put_stats_hours: the primary key
INSERT INTO stats_hours (collection, begins_at, counts)
SELECT u.collection, u.begins_at, u.counts
FROM unnest($1, $2, $3) AS u (collection, begins_at, counts)
ON CONFLICT (collection, begins_at) DO UPDATE SET counts = excluded.counts
