-- begin_write: a transaction
BEGIN ISOLATION LEVEL READ COMMITTED
