-- stored_specs: the primary key, behind a job and up to another
SELECT id, document, sealed
FROM jobs
WHERE id > $1
    AND id <= $2
ORDER BY id
LIMIT $3
