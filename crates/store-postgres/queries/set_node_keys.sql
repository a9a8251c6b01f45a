-- set_node_keys: the primary key, one row or none
UPDATE nodes
SET keys_known = $2
WHERE lease = $1
