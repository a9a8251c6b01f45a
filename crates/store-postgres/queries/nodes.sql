-- nodes: the few nodes
SELECT
    lease,
    name,
    fires,
    held,
    in_flight,
    version,
    started_at,
    clock_offset,
    problem,
    drained,
    url,
    greatest(0, extract(epoch FROM clock_timestamp() - beaten_at) * 1000)::bigint
FROM nodes
ORDER BY lease
LIMIT $1
