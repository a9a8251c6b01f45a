-- copy_set_identity: the next number is the one behind it
SELECT setval(pg_get_serial_sequence(quote_ident($1), $2)::regclass, $3)
