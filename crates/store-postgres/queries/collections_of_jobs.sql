-- collections_of_jobs: the primary keys
SELECT
    id,
    subscription,
    group_name,
    name,
    document,
    revision
FROM collections
WHERE id = ANY (ARRAY(SELECT collection FROM jobs WHERE jobs.id = ANY ($1)))
