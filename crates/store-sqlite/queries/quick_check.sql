-- quick_check: the whole file, for data that nobody uses
PRAGMA quick_check(20)
