-- count_job: collections_by_name, one row or none; it stays locked, so that a quota is never exceeded
UPDATE collections
SET job_count = job_count + 1
WHERE subscription_folded = $1
    AND group_folded = $2
    AND name_folded = $3
    AND revision = $4
    AND job_count < $5
RETURNING id, subscription, group_name, name
