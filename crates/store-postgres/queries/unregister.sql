-- unregister: one row, or none if it is there
INSERT INTO unregistered (subscription)
VALUES ($1)
ON CONFLICT (subscription) DO NOTHING
