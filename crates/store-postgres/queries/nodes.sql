-- nodes: the few nodes
SELECT lease, name, fires, held, in_flight
FROM nodes
ORDER BY lease
LIMIT $1
