-- set_takeover: the primary key, one row or none if it is set
UPDATE numbers
SET last = $1
WHERE name = 'takeover_ms'
    AND last = 0
