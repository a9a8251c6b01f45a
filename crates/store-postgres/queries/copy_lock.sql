-- copy_lock: nobody joins, and nobody else copies, until the transaction ends
LOCK TABLE nodes IN SHARE ROW EXCLUSIVE MODE
