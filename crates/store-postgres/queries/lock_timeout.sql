-- lock_timeout: whoever waits for a table makes others queue behind it, so it does not wait for long
SET LOCAL lock_timeout = '2s'
