-- commit: makes a group durable
COMMIT
