-- renew: the primary key, one row or none if the lease has ended
UPDATE nodes
SET beat = beat + 1,
    fires = $2,
    held = $3,
    in_flight = $4,
    clock_offset = $5,
    keys_known = $6,
    problem = $7,
    beaten_at = clock_timestamp()
WHERE lease = $1
RETURNING (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
