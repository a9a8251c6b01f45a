-- join: one row; numbers is locked, so that leases become visible in the order of their numbers. They are at least the milliseconds
-- since 1970: one that was given out and forgotten by a failover must not be given again.
WITH given AS (
    UPDATE numbers
    SET last = greatest(last + 1, $1)
    WHERE name = 'lease'
    RETURNING last
)
INSERT INTO nodes (
    lease, beat, fires, name, home, url, version, schema_known, tzdata, started_at, clock_offset, held, in_flight, keys_known,
    drained, virtual
)
SELECT last, 0, $2, $3, $4, $5, $6, $7, $8, $9, 0, 0, 0, $10, $11, $12
FROM given
RETURNING lease
