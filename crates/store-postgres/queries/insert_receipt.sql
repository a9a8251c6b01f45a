-- insert_receipt: one row; whoever inserts it again waits for this transaction
INSERT INTO receipts (key)
VALUES ($1)
