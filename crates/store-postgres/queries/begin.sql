-- begin: the primary keys
SELECT job, ticket, revision
FROM agenda
WHERE job = ANY ($1)
    AND holder = $2
    AND EXISTS (SELECT 1 FROM nodes WHERE lease = $2)
