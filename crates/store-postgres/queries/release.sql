-- release: the primary key, in the order of the jobs
UPDATE agenda AS a
SET holder = NULL
FROM unnest($1, $2, $3) AS u (job, holder, ticket)
WHERE a.job = u.job
    AND a.holder = u.holder
    AND a.ticket = u.ticket
