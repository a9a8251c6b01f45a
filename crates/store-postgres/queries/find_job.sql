-- find_job: collections_by_name, jobs_by_name, a job without its standing is not shown
SELECT
    j.id,
    j.name,
    c.subscription,
    c.group_name,
    c.name
FROM collections AS c
LEFT JOIN jobs AS j ON j.collection = c.id
    AND j.name_folded = $4
    AND EXISTS (SELECT 1 FROM agenda AS a WHERE a.job = j.id)
WHERE c.subscription_folded = $1
    AND c.group_folded = $2
    AND c.name_folded = $3
