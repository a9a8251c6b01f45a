-- reseal_jobs: the primary key of each, unless the job was written meanwhile
UPDATE jobs AS j
SET document = u.document,
    sealed = u.sealed
FROM unnest($1, $2, $3, $4, $5) AS u (id, document, sealed, old_document, old_sealed)
WHERE j.id = u.id
    AND j.document = u.old_document
    AND j.sealed IS NOT DISTINCT FROM u.old_sealed
