-- copy_patience: for this transaction, which may take long and be idle in between
SELECT
    set_config('statement_timeout', '0', true),
    set_config('idle_in_transaction_session_timeout', '0', true)
