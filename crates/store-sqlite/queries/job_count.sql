-- job_count: collections_by_name, jobs_by_name covering
SELECT count(*)
FROM collections AS c
CROSS JOIN jobs AS j ON j.collection = c.id
WHERE c.subscription_folded = ?1
    AND c.group_folded = ?2
    AND c.name_folded = ?3
