-- begin: a deferred transaction, which sees what was committed before its first statement
BEGIN
