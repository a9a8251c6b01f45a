-- copy_last_identity: the last number that was given in a column, null if none was
SELECT pg_sequence_last_value(pg_get_serial_sequence(quote_ident($1), $2)::regclass)
