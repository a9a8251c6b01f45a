-- find_receipt: one row if the transaction of the receipt was not committed, and now never will be; none if it was
INSERT INTO receipts (key)
VALUES ($1)
ON CONFLICT (key) DO NOTHING
