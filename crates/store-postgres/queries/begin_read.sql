-- begin_read: one snapshot for several statements
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY
