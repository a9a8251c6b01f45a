-- The first schema. Instants are ticks of 100 ns since 1970; enum values are the numbers of
-- punctual_store::codec::Number. Rows that belong to others are deleted by name, not by foreign keys,
-- so that a settlement pays for no checks.

CREATE TABLE counters (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- The last sequence number of a record and the last revision of a collection, so that neither is
    -- used again after what had it is deleted.
    sequence INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    -- A known text sealed with the newest key, so that a wrong key file is noticed at the start.
    key_check BLOB NOT NULL
) STRICT;

CREATE TABLE unregistered (
    subscription TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE groups (
    id INTEGER PRIMARY KEY,
    subscription TEXT NOT NULL,
    subscription_folded TEXT NOT NULL,
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    location TEXT NOT NULL,
    tags TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX groups_by_name ON groups (subscription_folded, name_folded);

CREATE TABLE collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    subscription TEXT NOT NULL,
    subscription_folded TEXT NOT NULL,
    group_name TEXT NOT NULL,
    group_folded TEXT NOT NULL,
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    -- Also in the document; here for claims, which need no more of a collection.
    location TEXT NOT NULL,
    sku INTEGER NOT NULL,
    document BLOB NOT NULL,
    revision INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX collections_by_name ON collections (subscription_folded, group_folded, name_folded);

CREATE INDEX collections_by_plan ON collections (subscription_folded, sku);

-- The definition of a job: cold, written by edits only.
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL,
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    document BLOB NOT NULL,
    sealed BLOB
) STRICT;

CREATE UNIQUE INDEX jobs_by_name ON jobs (collection, name_folded);

-- Where a job stands: one row for each job, narrow and hot. A settlement is one UPDATE here.
CREATE TABLE agenda (
    job INTEGER PRIMARY KEY,
    -- The entry; null where the job has none.
    due_at INTEGER,
    -- The first 8 bytes of the SHA-256 of whom the entry calls.
    target INTEGER NOT NULL,
    nominal_at INTEGER,
    cause INTEGER,
    step INTEGER,
    attempt INTEGER,
    ordinal INTEGER,
    -- The rest of the progress.
    floor_at INTEGER,
    past_at INTEGER,
    started_count INTEGER NOT NULL,
    drop_count INTEGER NOT NULL,
    last_failed INTEGER NOT NULL,
    ended_at INTEGER,
    -- Ticks, 8 bytes each, big endian; null where nothing waits.
    runs BLOB,
    -- The rest of the job.
    state INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    put_at INTEGER NOT NULL,
    execution_count INTEGER NOT NULL,
    failure_count INTEGER NOT NULL,
    faulted_count INTEGER NOT NULL,
    last_started_at INTEGER,
    revision INTEGER NOT NULL,
    -- At least as many as the job has records and skips; set right by prune_to.
    trace_count INTEGER NOT NULL
) STRICT;

CREATE INDEX agenda_by_due ON agenda (due_at, job, target) WHERE due_at IS NOT NULL;

CREATE INDEX agenda_by_end ON agenda (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE history (
    sequence INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    nominal_at INTEGER NOT NULL,
    cause INTEGER NOT NULL,
    step INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    status INTEGER NOT NULL,
    -- 0 an attempt, 1 an occurrence that had to wait.
    kind INTEGER NOT NULL,
    message TEXT NOT NULL
) STRICT;

CREATE INDEX history_by_start ON history (job, started_at DESC, sequence DESC, status);

CREATE UNIQUE INDEX history_by_attempt ON history (job, nominal_at, cause, step, attempt, generation, kind);

CREATE INDEX history_by_end ON history (ended_at);

CREATE TABLE skips (
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    occurrence_count INTEGER NOT NULL,
    reason INTEGER NOT NULL,
    decided_at INTEGER NOT NULL
) STRICT;

CREATE INDEX skips_by_job ON skips (job, first_at);

CREATE INDEX skips_by_decision ON skips (decided_at);

-- Deleted jobs whose history is still to be swept away, a piece at a time.
CREATE TABLE graves (
    job INTEGER PRIMARY KEY
) STRICT;
