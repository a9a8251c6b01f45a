-- standings_locked: the primary keys, locked in the order of the jobs
SELECT
    a.job,
    a.revision,
    a.holder,
    j.collection,
    j.name_folded,
    (a.holder IS NOT NULL AND a.holder = ANY (ARRAY(SELECT lease FROM nodes))) AS live
FROM unnest($1) AS u (job)
INNER JOIN agenda AS a ON a.job = u.job
INNER JOIN jobs AS j ON j.id = a.job
ORDER BY a.job
FOR UPDATE OF a
