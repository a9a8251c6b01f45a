-- copy_count_callers: two rows
UPDATE numbers
SET last = CASE name
    WHEN 'tokens' THEN (SELECT count(*) FROM tokens)
    ELSE (SELECT count(*) FROM sessions)
END
WHERE name IN ('tokens', 'sessions')
