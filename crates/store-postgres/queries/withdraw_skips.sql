-- withdraw_skips: skips_by_job, those that end after $2 and begin before $3
DELETE FROM skips
WHERE job = $1
    AND first_at < $3
    AND last_at > $2
