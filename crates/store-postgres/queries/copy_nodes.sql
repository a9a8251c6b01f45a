-- copy_nodes: the few nodes
SELECT lease, beat, name
FROM nodes
ORDER BY lease
LIMIT 1000
