-- rollback: takes it back
ROLLBACK
