-- node_keys: the few nodes, with the keys that each knows
SELECT name, keys_known
FROM nodes
ORDER BY lease
