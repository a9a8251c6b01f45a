-- The first schema. Instants are ticks of 100 ns since 1970; enum values are the numbers of punctual_store::codec::Number; numbers
-- that are 32 bits without a sign elsewhere are bigint. Rows that belong to others are deleted by name, not by foreign keys, so
-- that a settlement pays for no checks. Names are compared byte by byte, as everywhere else.

CREATE TABLE counters (
    id smallint PRIMARY KEY CHECK (id = 1),
    -- A known text sealed with the newest key, so that a wrong key file is noticed at the start.
    key_check bytea NOT NULL,
    -- Records that ended before this may be gone; null where none is.
    pruned_before bigint
);

-- Numbers that whoever counts must lock: the order of locks is this table, collections by id, agenda by job.
CREATE TABLE numbers (
    name text COLLATE "C" PRIMARY KEY,
    last bigint NOT NULL
) WITH (fillfactor = 50);

INSERT INTO numbers (name, last)
VALUES
    -- The last lease that was given out.
    ('lease', 0),
    -- How long the beat of a node must stand still before its lease is ended, in milliseconds; 0 until the first node says so.
    ('takeover_ms', 0),
    -- Locked by whoever makes or deletes collections, so that plans are counted right.
    ('plans', 0),
    -- At least as many as there are sessions; locked by whoever makes one.
    ('sessions', 0),
    -- How many tokens there are, and how often they were changed.
    ('tokens', 0),
    ('token_changes', 0);

-- One row for each node that has a lease. A beat that stands still for as long as takeover_ms says ends it.
CREATE TABLE nodes (
    lease bigint PRIMARY KEY,
    beat bigint NOT NULL,
    fires boolean NOT NULL,
    name text NOT NULL,
    -- A random id of a directory on the node's machine; empty where it has none.
    home text NOT NULL,
    url text NOT NULL,
    version text NOT NULL,
    schema_known integer NOT NULL,
    tzdata text NOT NULL,
    started_at bigint NOT NULL,
    -- How far its clock is ahead of this server's, in ticks.
    clock_offset bigint NOT NULL,
    held bigint NOT NULL,
    in_flight bigint NOT NULL
) WITH (fillfactor = 50);

-- What was written by whom is not known if the answer to a COMMIT is lost: whoever finds the receipt knows that it was.
CREATE TABLE receipts (
    key bytea PRIMARY KEY,
    made_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX receipts_by_time ON receipts (made_at);

CREATE TABLE unregistered (
    subscription text COLLATE "C" PRIMARY KEY
);

CREATE TABLE groups (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    subscription text COLLATE "C" NOT NULL,
    subscription_folded text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    name_folded text COLLATE "C" NOT NULL,
    location text NOT NULL,
    tags text NOT NULL,
    created_at bigint NOT NULL
);

CREATE UNIQUE INDEX groups_by_name ON groups (subscription_folded, name_folded);

CREATE SEQUENCE collection_revisions AS bigint;

CREATE TABLE collections (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    subscription text COLLATE "C" NOT NULL,
    subscription_folded text COLLATE "C" NOT NULL,
    group_name text COLLATE "C" NOT NULL,
    group_folded text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    name_folded text COLLATE "C" NOT NULL,
    -- Also in the document; here for claims, which need no more of a collection.
    location text NOT NULL,
    sku smallint NOT NULL,
    document bytea NOT NULL,
    revision bigint NOT NULL,
    -- Creators lock the row by counting, so that a quota is never exceeded.
    job_count bigint NOT NULL
) WITH (fillfactor = 50);

CREATE UNIQUE INDEX collections_by_name ON collections (subscription_folded, group_folded, name_folded);

CREATE INDEX collections_by_plan ON collections (subscription_folded, sku);

-- A node takes this many ids at once.
CREATE SEQUENCE job_ids AS bigint INCREMENT BY 64 MINVALUE 1 START WITH 1;

-- The definition of a job: cold, written by edits only.
CREATE TABLE jobs (
    id bigint PRIMARY KEY,
    collection bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    name_folded text COLLATE "C" NOT NULL,
    document bytea NOT NULL,
    sealed bytea
);

CREATE UNIQUE INDEX jobs_by_name ON jobs (collection, name_folded);

-- Where a job stands: one row for each job, narrow and hot. A settlement is one UPDATE here, and a claim one of holder and ticket
-- only: they are in no index, so that with half of each page free it touches none.
CREATE TABLE agenda (
    job bigint PRIMARY KEY,
    -- The entry; null where the job has none.
    due_at bigint,
    -- The first 8 bytes of the SHA-256 of whom the entry calls.
    target bigint NOT NULL,
    nominal_at bigint,
    attempt bigint,
    ordinal bigint,
    -- The rest of the progress.
    floor_at bigint,
    past_at bigint,
    started_count bigint NOT NULL,
    drop_count bigint NOT NULL,
    ended_at bigint,
    -- The rest of the job.
    put_at bigint NOT NULL,
    generation bigint NOT NULL,
    execution_count bigint NOT NULL,
    failure_count bigint NOT NULL,
    faulted_count bigint NOT NULL,
    last_started_at bigint,
    revision bigint NOT NULL,
    -- At least as many as the job has records and skips; set right by prune_to.
    trace_count bigint NOT NULL,
    -- The generation of the job when the oldest of too many records went; 0 if none did.
    capped_generation bigint NOT NULL DEFAULT 0,
    -- Whose claim it is: the lease of the node, and the number of its claiming call. Without a row in nodes, nobody's.
    holder bigint,
    ticket bigint,
    cause smallint,
    step smallint,
    state smallint NOT NULL,
    last_failed boolean NOT NULL,
    -- Ticks, 8 bytes each, big endian; null where nothing waits.
    runs bytea,
    -- Occurrences later than past_at that were started while the clock was ahead.
    ahead bytea
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX agenda_by_due ON agenda (due_at, job) WHERE due_at IS NOT NULL;

CREATE INDEX agenda_by_end ON agenda (ended_at, job) WHERE ended_at IS NOT NULL;

-- 3 is the state of a faulted job.
CREATE INDEX agenda_by_fault ON agenda (ended_at) WHERE state = 3;

CREATE TABLE history (
    sequence bigint GENERATED ALWAYS AS IDENTITY,
    job bigint NOT NULL,
    generation bigint NOT NULL,
    nominal_at bigint NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    attempt bigint NOT NULL,
    ordinal bigint NOT NULL,
    cause smallint NOT NULL,
    step smallint NOT NULL,
    status smallint NOT NULL,
    -- 0 an attempt, 1 an occurrence that had to wait.
    kind smallint NOT NULL,
    -- UTF-8; a text could not have a zero in it.
    message bytea NOT NULL
);

CREATE INDEX history_by_start ON history (job, started_at DESC, sequence DESC, status);

CREATE UNIQUE INDEX history_by_attempt ON history (job, nominal_at, cause, step, attempt, generation, kind);

CREATE INDEX history_by_end ON history (ended_at);

CREATE TABLE skips (
    id bigint GENERATED ALWAYS AS IDENTITY,
    job bigint NOT NULL,
    generation bigint NOT NULL,
    first_at bigint NOT NULL,
    last_at bigint NOT NULL,
    occurrence_count bigint NOT NULL,
    decided_at bigint NOT NULL,
    reason smallint NOT NULL
);

CREATE INDEX skips_by_job ON skips (job, first_at, id);

CREATE INDEX skips_by_decision ON skips (decided_at);

-- Deleted jobs whose history is still to be swept away, a piece at a time.
CREATE TABLE graves (
    job bigint PRIMARY KEY
);

-- Who may call: tokens, by the hash of their secret.
CREATE TABLE tokens (
    id text COLLATE "C" PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    name_folded text COLLATE "C" NOT NULL,
    -- The SHA-256 of the secret.
    hash bytea NOT NULL,
    -- A document of punctual_store::codec.
    grants bytea NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    last_used_at bigint
);

CREATE UNIQUE INDEX tokens_by_name ON tokens (name_folded);

CREATE UNIQUE INDEX tokens_by_hash ON tokens (hash);

-- Secrets of the server itself, such as the key that it signs tokens with, by name.
CREATE TABLE server_secrets (
    name text COLLATE "C" PRIMARY KEY,
    sealed bytea NOT NULL
);

-- Who did what, and the chain that shows if an entry was changed or taken away.
CREATE TABLE audit (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- A document of punctual_store::codec.
    entry bytea NOT NULL
);

CREATE TABLE audit_pieces (
    number bigint PRIMARY KEY,
    sealed_at bigint NOT NULL,
    -- For each entry its number and its code.
    entries bytea NOT NULL,
    code bytea NOT NULL
);

CREATE TABLE audit_chain (
    id smallint PRIMARY KEY CHECK (id = 1),
    -- Sealed.
    key bytea NOT NULL,
    -- Entries up to this one are in a piece. The row is locked by whoever seals, so that the chain can't fork.
    sealed_to bigint NOT NULL,
    -- The last piece that was deleted.
    anchor bigint NOT NULL,
    anchor_code bytea NOT NULL
);

-- Who has signed in on the web page: sessions, by the hash of their secret.
CREATE TABLE sessions (
    id text COLLATE "C" PRIMARY KEY,
    -- The SHA-256 of the secret.
    hash bytea NOT NULL,
    -- The id of a token, or what an issuer calls somebody, in UTF-8.
    caller bytea NOT NULL,
    -- The issuer; empty with a token.
    issuer bytea NOT NULL,
    -- A document of punctual_store::codec.
    holder bytea NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint NOT NULL,
    expires_at bigint NOT NULL
);

CREATE UNIQUE INDEX sessions_by_hash ON sessions (hash);

CREATE INDEX sessions_by_caller ON sessions (caller, issuer, last_used_at);
