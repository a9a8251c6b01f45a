-- commit: makes it durable
COMMIT
