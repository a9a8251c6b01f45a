-- copy_last_record: the last row by its primary key
SELECT coalesce(max(sequence), 0)
FROM history
