-- in_flight: the primary keys; what other nodes have claimed and is due
SELECT job
FROM agenda
WHERE job = ANY ($1)
    AND due_at <= $2
    AND holder <> $3
    AND holder = ANY (ARRAY(SELECT lease FROM nodes))
