-- stats_hours_locked: the primary key
SELECT
    h.collection,
    h.begins_at,
    h.counts
FROM unnest($1, $2) AS u (collection, begins_at)
INNER JOIN stats_hours AS h ON h.collection = u.collection AND h.begins_at = u.begins_at
FOR UPDATE OF h
