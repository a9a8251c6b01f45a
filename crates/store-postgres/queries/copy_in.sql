-- copy_in: many rows. Names in braces are put in from the catalogue
COPY {table} ({columns}) FROM STDIN WITH (FORMAT binary)
