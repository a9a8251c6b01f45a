-- rollback: takes a group back
ROLLBACK
