-- leave_home: the few nodes; those whose process is known to be gone
DELETE FROM nodes
WHERE home = $1
