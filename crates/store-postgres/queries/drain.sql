-- drain: the few nodes, those of a name
UPDATE nodes
SET drained = $2
WHERE name = $1
