-- jobs_over_cap: the primary key: a scan, run by a reader, of the narrow table
SELECT job
FROM agenda
WHERE trace_count > $1
    AND job > $2
ORDER BY job
LIMIT $3
