-- reseal_job: the primary key, unless the job was written meanwhile
UPDATE jobs
SET document = ?2,
    sealed = ?3
WHERE id = ?1
    AND document = ?4
    AND sealed IS ?5
