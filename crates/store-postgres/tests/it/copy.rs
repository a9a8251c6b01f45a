//! Everything goes from SQLite to PostgreSQL and back, whatever happens on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use punctual_model::access::{
    Caller, Grant, Role, Session, SessionHolder, SessionId, Token, TokenHash, TokenId,
};
use punctual_model::audit::{AuditOutcome, Author};
use punctual_model::{CollectionKey, JobKey, RecordStatus, Scope, Secret};
use punctual_store::conformance::resources::a_written_job_reads_back_with_its_secrets;
use punctual_store::conformance::world::{MANY, World, a_record, a_skip, at};
use punctual_store::copy::{
    COPIED, Cell, CopyError, CopyReport, CopyRow, CopySource, CopyTarget, LastNumbers, NOT_COPIED,
    PlannedTable, Shape, TargetState, copy, plan,
};
use punctual_store::{
    AuditAsk, AuditLog, Callers, Group, JobsAsk, Resources, Roster, Sessions, Store, Survey, Trouble, Vault,
};
use punctual_store_postgres::{OpenError, PostgresCopy, PostgresStore, ServerUrl};
use punctual_store_sqlite::{SqliteStore, SqliteTarget, StoppedStore, Synchronous};
use rusqlite::types::Value;

use crate::server::Database;
use crate::world::{Counting, open, options, ring};

fn vault() -> Vault {
    Vault::new(&ring())
}

fn url(database: &Database) -> ServerUrl {
    ServerUrl::parse(&database.url).unwrap()
}

fn open_sqlite(dir: &Path) -> SqliteStore {
    let mut options = punctual_store_sqlite::Options::new(dir, Arc::new(vault()), Arc::new(Counting));
    options.synchronous = Synchronous::Off;
    SqliteStore::open(options).unwrap()
}

fn stopped(dir: &Path) -> StoppedStore {
    StoppedStore::open(dir, Some(vault())).unwrap()
}

async fn run(source: &dyn CopySource, target: &dyn CopyTarget) -> Result<CopyReport, CopyError> {
    copy(source, target, &mut |_| {}).await
}

/// A data directory with rows of every kind.
async fn filled() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open_sqlite(dir.path()));
    fill(&store).await;
    drop(store);
    // Enough for several batches, in the history of one job.
    let conn = rusqlite::Connection::open(dir.path().join("punctual.db")).unwrap();
    let many = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000)
        INSERT INTO history (sequence, job, generation, nominal_at, cause, step, attempt, ordinal, started_at, ended_at, status,
            kind, message)
        SELECT 1000 + x, 1, 1, -x, 0, 0, 0, 1, x, x + 1, 0, 0, 'zero ' || char(0) || ' and ü' FROM n";
    conn.execute_batch(many).unwrap();
    // A deleted job whose history is not swept away yet.
    conn.execute_batch(
        "INSERT INTO graves VALUES (900); UPDATE history SET job = 900 WHERE sequence > 20000",
    )
    .unwrap();
    let stats = "INSERT OR IGNORE INTO stats_minutes VALUES (0, 0, 0, x'00'); INSERT OR IGNORE INTO stats_hours VALUES (0, 0, x'00')";
    conn.execute_batch(stats).unwrap();
    conn.execute_batch("INSERT INTO reruns VALUES (1, 20, 10), (1, 30, 10), (900, 20, -5)").unwrap();
    conn.execute_batch("UPDATE counters SET sequence = 30000, revision = 500").unwrap();
    conn.execute_batch("UPDATE sqlite_sequence SET seq = seq + 1000").unwrap();
    dir
}

async fn fill(store: &Arc<SqliteStore>) {
    a_written_job_reads_back_with_its_secrets(Arc::clone(store) as Arc<dyn Store>).await;
    let world = World::new(Arc::clone(store) as Arc<dyn Store>);
    let collection = world.collection("other").await;
    let job = world.job(&collection, "a", at(-60)).await;
    let records = vec![a_record(&job, at(-60), RecordStatus::Failed)];
    world.record(&job.key, records, vec![a_skip(&job, -50, -40, -30)]).await;
    for index in 0..300 {
        world.job(&collection, &format!("j{index}"), at(100_000 + index)).await;
    }
    store.set_unregistered(&"Gone".into(), true, None).await.unwrap();
    let group = Group {
        key: CollectionKey::new("Sub", "Räume", "x").group,
        location: "West US".to_owned(),
        tags: vec![("a".to_owned(), "b".to_owned())],
        created_at: at(1),
    };
    store.put_group(&group, None).await.unwrap();
    for number in 1..=3 {
        store.create_token(&token(number), None).await.unwrap();
        store.create_session(&session(number), None).await.unwrap();
    }
    store.keep_server_secret("signing", &Secret::new("a secret of the server")).await.unwrap();
    let author = Author::of(Caller::anonymous(), at(0));
    let entry = author.entry(Scope::Everything, AuditOutcome::Done);
    for piece in 1..=3 {
        store.append_audit(vec![entry.clone(); 20]).await.unwrap();
        store.seal_audit(at(piece), 100).await.unwrap();
    }
    // The anchor of the chain moves, and an entry is not sealed yet.
    assert_eq!(store.prune_audit(at(2), 20).await.unwrap(), 20);
    store.append_audit(vec![entry]).await.unwrap();
}

fn token(number: u8) -> Token {
    Token {
        id: TokenId(format!("00000000-0000-4000-8000-{number:012}")),
        name: format!("token {number}"),
        hash: TokenHash([number; 32]),
        grants: vec![Grant { role: Role::Reader, scope: Scope::Everything }],
        created_at: at(0),
        expires_at: (number == 1).then(|| at(60)),
        last_used_at: (number == 2).then(|| at(30)),
    }
}

fn session(number: u8) -> Session {
    let holder = SessionHolder::OpenId {
        issuer: "https://login.example.com".to_owned(),
        subject: "Zoë".to_owned(),
        name: "Zoë".to_owned(),
        claims: vec![("groups".to_owned(), "ops".to_owned())],
    };
    Session {
        id: SessionId(format!("00000000-0000-4000-8000-{number:012}")),
        hash: TokenHash([number; 32]),
        holder,
        created_at: at(0),
        last_used_at: at(i64::from(number)),
        expires_at: at(100_000_000),
    }
}

/// All rows of all tables of a data file, by table.
fn dump(dir: &Path) -> BTreeMap<String, Vec<Vec<Value>>> {
    let conn = rusqlite::Connection::open(dir.join("punctual.db")).unwrap();
    let mut names = conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let rows = |name: &String| {
        let mut all = conn.prepare(&format!("SELECT * FROM {name}")).unwrap();
        let count = all.column_count();
        let row = |row: &rusqlite::Row<'_>| (0..count).map(|place| row.get(place)).collect();
        let mut rows: Vec<Vec<Value>> = all.query_map([], row).unwrap().map(Result::unwrap).collect();
        rows.sort_by_key(|row| format!("{row:?}"));
        rows
    };
    names.iter().map(|name| (name.clone(), rows(name))).collect()
}

/// What a server says about its data.
#[derive(Debug, PartialEq)]
struct Told {
    jobs: Vec<String>,
    history: Vec<String>,
    skips: Vec<String>,
    next_due: Option<jiff::Timestamp>,
    tokens: Vec<Token>,
    session: Option<Session>,
    secret: Option<String>,
    audit: String,
}

async fn told<S: Store + Callers + Sessions + AuditLog>(store: &S) -> Told {
    let (mut jobs, mut history, mut skips) = (Vec::new(), Vec::new(), Vec::new());
    for key in [CollectionKey::new("Sub", "Group", "c"), CollectionKey::new("Sub", "Group", "other")] {
        let ask = JobsAsk { state: None, after: None, skip: 0, limit: MANY };
        for job in store.jobs(&key, &ask).await.unwrap().items {
            let key: JobKey = job.key.clone();
            assert_eq!(store.job_in_collection(&key).await.unwrap().unwrap().1.as_ref(), Some(&job));
            let all = punctual_store::conformance::world::all_history(job.id);
            history.push(format!("{:?}", store.history(&all).await.unwrap()));
            skips.push(format!("{:?}", store.skips(job.id, at(-100), at(100), MANY).await.unwrap()));
            jobs.push(format!("{job:?}"));
        }
    }
    let verified = store.verify_audit(None, MANY).await.unwrap();
    let entries = store.audit(&AuditAsk { limit: 1_000, ..AuditAsk::default() }).await.unwrap();
    let secret = store.server_secret("signing").await.unwrap();
    Told {
        jobs,
        history,
        skips,
        next_due: store.next_due(&[]).await.unwrap(),
        tokens: store.tokens().await.unwrap(),
        session: store.session(&TokenHash([2; 32])).await.unwrap(),
        secret: secret.map(|secret| secret.expose().to_owned()),
        audit: format!("{verified:?} {:?}", entries.entries),
    }
}

/// A target that fails at one of the calls that write, before or after the call was made.
struct Dying<'t> {
    target: &'t dyn CopyTarget,
    left: AtomicUsize,
    after: bool,
}

/// The calls that write: the note that it begins, a batch for each table and two more of history, the last numbers, the end.
const WRITES: usize = 1 + COPIED.len() + 2 + 1 + 1;

impl<'t> Dying<'t> {
    /// Dies before and after each write in turn: what was written is not written again, except for the last numbers.
    fn at(dead_count: usize, target: &'t dyn CopyTarget) -> Self {
        assert!(dead_count <= 2 * WRITES, "it does not get on");
        let left = if dead_count / 2 >= WRITES - 1 { 2 } else { 1 };
        Self { target, left: left.into(), after: dead_count % 2 == 1 }
    }

    async fn write<T>(&self, call: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
        let dead = Trouble::Closed { doing: "die" };
        let last = self.left.fetch_sub(1, Ordering::Relaxed) == 1;
        if last && !self.after {
            return Err(dead);
        }
        let done = call.await?;
        if last { Err(dead) } else { Ok(done) }
    }
}

#[async_trait]
impl CopySource for Dying<'_> {
    async fn shape(&self) -> Result<Shape, Trouble> {
        self.target.shape().await
    }
    async fn count(&self, table: &str) -> Result<u64, Trouble> {
        self.target.count(table).await
    }
    async fn page(
        &self,
        table: &PlannedTable,
        after: Option<&[Cell]>,
        limit: usize,
    ) -> Result<Vec<CopyRow>, Trouble> {
        self.target.page(table, after, limit).await
    }
    async fn last_numbers(&self) -> Result<LastNumbers, Trouble> {
        self.target.last_numbers().await
    }
    async fn still_alone(&self) -> Result<(), Trouble> {
        self.target.still_alone().await
    }
}

#[async_trait]
impl CopyTarget for Dying<'_> {
    async fn state(&self) -> Result<TargetState, Trouble> {
        self.target.state().await
    }
    async fn begin(&self, fingerprint: u32) -> Result<(), Trouble> {
        self.write(self.target.begin(fingerprint)).await
    }
    async fn last_key(&self, table: &PlannedTable) -> Result<Option<Vec<Cell>>, Trouble> {
        self.target.last_key(table).await
    }
    async fn append(&self, table: &PlannedTable, rows: Vec<CopyRow>) -> Result<(), Trouble> {
        self.write(self.target.append(table, rows)).await
    }
    async fn set_last_numbers(&self, last: &LastNumbers) -> Result<(), Trouble> {
        self.write(self.target.set_last_numbers(last)).await
    }
    async fn complete(&self) -> Result<(), Trouble> {
        self.write(self.target.complete()).await
    }
}

#[tokio::test]
async fn every_table_of_both_schemas_is_copied_or_it_is_said_why_not() {
    let Some(database) = Database::new().await else { return };
    let dir = tempfile::tempdir().unwrap();
    let sqlite = SqliteTarget::open(dir.path()).unwrap().shape().await.unwrap();
    let postgres = PostgresCopy::target(&url(&database), &[]).await.unwrap().shape().await.unwrap();
    let copied: BTreeSet<&str> = COPIED.iter().map(|table| table.name).collect();
    let left_out: BTreeSet<&str> = NOT_COPIED.iter().map(|(name, _)| *name).collect();
    let found: BTreeSet<&str> =
        sqlite.tables.keys().chain(postgres.tables.keys()).map(String::as_str).collect();
    let listed: BTreeSet<&str> = copied.union(&left_out).copied().collect();
    assert_eq!(found, listed, "the tables of both schemas, and COPIED and NOT_COPIED");
    assert_eq!(copied.intersection(&left_out).count(), 0);
    assert_eq!(plan(&sqlite, &postgres).map(|tables| tables.len()), Ok(COPIED.len()));
    assert_eq!(plan(&postgres, &sqlite).map(|tables| tables.len()), Ok(COPIED.len()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_goes_there_and_back_though_it_dies_at_every_step() {
    let Some(database) = Database::new().await else { return };
    let (dir, back) = (filled().await, tempfile::tempdir().unwrap());
    let before = dump(dir.path());
    let empty = |name: &&str| before[*name].is_empty();
    let empty: Vec<&str> = COPIED.iter().map(|table| table.name).filter(empty).collect();
    assert_eq!(empty, [] as [&str; 0], "there are rows of every kind");

    // Asked elsewhere: a server that runs keeps house.
    let asked = tempfile::tempdir().unwrap();
    std::fs::copy(dir.path().join("punctual.db"), asked.path().join("punctual.db")).unwrap();
    let before_told = told(&open_sqlite(asked.path())).await;

    // Up, though it dies before and after each call that writes.
    let mut dead_count = 0;
    loop {
        let source = stopped(dir.path());
        let target = PostgresCopy::target(&url(&database), &[]).await.unwrap();
        let dying = Dying::at(dead_count, &target);
        let died = run(&source, &dying).await.unwrap_err();
        if let CopyError::NotEmpty(tables) = died {
            // It died when all was done.
            assert_eq!(tables.len(), COPIED.len());
            break;
        }
        assert!(matches!(died, CopyError::Target(Trouble::Closed { .. })), "{died:?}");
        dead_count += 1;
        drop(target);
        if (3..5).contains(&dead_count) {
            let refused = PostgresStore::open(options(&database.url)).await.unwrap_err();
            assert!(matches!(refused, OpenError::Copying), "no node starts on a part: {refused}");
        }
    }
    assert_eq!(dead_count, 2 * WRITES);
    assert_eq!(dump(dir.path()), before, "nothing was changed in the source");

    // There a node finds everything.
    let store = Arc::new(open(&database).await);
    assert_eq!(told(&*store).await, before_told);
    let last = store.extent().await.unwrap().last_job;
    assert!(last.0 >= 1_300, "ids that were given are not given again: {last:?}");
    store.leave().await.unwrap();
    drop(store);

    // And down again, the same way.
    let mut dead_count = 0;
    loop {
        let source = PostgresCopy::source(&url(&database), &[], &vault()).await.unwrap();
        let target = match SqliteTarget::open(back.path()) {
            Ok(target) => target,
            Err(punctual_store_sqlite::OpenError::Used { .. }) => break,
            Err(other) => panic!("{other}"),
        };
        let dying = Dying::at(dead_count, &target);
        let died = run(&source, &dying).await.unwrap_err();
        assert!(matches!(died, CopyError::Target(Trouble::Closed { .. })), "{died:?}");
        dead_count += 1;
    }
    assert_eq!(dead_count, 2 * WRITES);
    let after = dump(back.path());
    for (table, rows) in &before {
        assert_eq!(&after[table], rows, "{table}");
    }
    assert_eq!(told(&open_sqlite(back.path())).await, before_told);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_go_on_behind_those_that_were_given() {
    let Some(database) = Database::new().await else { return };
    let dir = filled().await;
    let target = PostgresCopy::target(&url(&database), &[]).await.unwrap();
    let report = run(&stopped(dir.path()), &target).await.unwrap();
    assert!(!report.resumed);
    assert_eq!(report.tables.iter().find(|table| table.name == "history").unwrap().row_count, 20_001);
    drop(target);
    let store = Arc::new(open(&database).await);
    let world = World::new(Arc::clone(&store) as Arc<dyn Store>);
    let collection = world.collection("new").await;
    assert!(collection.revision > 500, "{}", collection.revision);
    let job = world.job(&collection, "j", at(0)).await;
    assert!(job.id.0 > 1_300, "{:?}", job.id);
    world
        .record(&job.key, vec![a_record(&job, at(0), RecordStatus::Completed)], vec![a_skip(&job, 1, 2, 3)])
        .await;
    let client = database.client().await;
    let last = client.query_one("SELECT max(sequence), count(*) FROM history", &[]).await.unwrap();
    assert_eq!((last.get::<_, i64>(0), last.get::<_, i64>(1)), (30_001, 20_002));
    let counted = "SELECT bool_and(job_count = (SELECT count(*) FROM jobs WHERE collection = c.id)) FROM collections AS c";
    assert!(client.query_one(counted, &[]).await.unwrap().get::<_, bool>(0));
    let numbers = "SELECT last FROM numbers WHERE name IN ('tokens', 'sessions')";
    let numbers = client.query(numbers, &[]).await.unwrap();
    assert_eq!(numbers.iter().map(|row| row.get::<_, i64>(0)).collect::<Vec<_>>(), [3, 3]);
    store.create_token(&token(9), None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_runs_is_refused_and_one_that_was_killed_is_not() {
    let Some(database) = Database::new().await else { return };
    let dir = tempfile::tempdir().unwrap();
    let running = open_sqlite(dir.path());
    let refused = StoppedStore::open(dir.path(), Some(vault())).unwrap_err();
    assert!(matches!(refused, punctual_store_sqlite::OpenError::Owned { .. }), "{refused}");
    drop(running);

    let running = open(&database).await;
    let refused = PostgresCopy::source(&url(&database), &[], &vault()).await.unwrap_err();
    assert!(matches!(&refused, OpenError::Running(nodes) if nodes == &["node"]), "{refused}");
    let mut standing = running.standing();
    assert!(standing.wait_for(|standing| standing.may_fire).await.is_ok(), "it was not disturbed");
    // Without leaving, as a process that is killed.
    drop(running);
    let source = PostgresCopy::source(&url(&database), &[], &vault()).await.unwrap();
    let report =
        run(&source, &SqliteTarget::open(tempfile::tempdir().unwrap().path()).unwrap()).await.unwrap();
    assert_eq!(report.tables.len(), COPIED.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_node_starts_while_its_database_is_copied() {
    let Some(database) = Database::new().await else { return };
    let first = open(&database).await;
    first.leave().await.unwrap();
    drop(first);
    let source = PostgresCopy::source(&url(&database), &[], &vault()).await.unwrap();
    let starting = tokio::spawn({
        let options = options(&database.url);
        async move { PostgresStore::open(options).await.map(drop).is_err() }
    });
    let client = database.client().await;
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'nodes'::regclass";
    while client.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let refused = PostgresCopy::target(&url(&database), &[]).await.unwrap_err();
    assert!(matches!(refused, OpenError::Locked), "nobody else copies: {refused}");
    assert!(starting.await.unwrap(), "it gets no lease");
    source.still_alone().await.unwrap();
    drop(source);
    drop(open(&database).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_can_not_be_right_is_refused_before_anything_is_written() {
    let Some(database) = Database::new().await else { return };
    let none = PostgresCopy::source(&url(&database), &[], &vault()).await.unwrap_err();
    assert!(matches!(none, OpenError::Empty), "{none}");
    let (dir, other) = (filled().await, tempfile::tempdir().unwrap());
    drop(open_sqlite(other.path()));
    let used = SqliteTarget::open(other.path()).unwrap_err();
    assert!(matches!(used, punctual_store_sqlite::OpenError::Used { .. }), "{used}");

    // A part of a copy from one source is not gone on with from another.
    let target = PostgresCopy::target(&url(&database), &[]).await.unwrap();
    let dying = Dying { target: &target, left: 3.into(), after: true };
    run(&stopped(dir.path()), &dying).await.unwrap_err();
    let refused = run(&stopped(other.path()), &target).await.unwrap_err();
    assert!(matches!(refused, CopyError::OtherSource), "{refused}");
    drop(target);
    let half = PostgresCopy::source(&url(&database), &[], &vault()).await.unwrap_err();
    assert!(matches!(half, OpenError::Copying), "{half}");
    let target = PostgresCopy::target(&url(&database), &[]).await.unwrap();
    run(&stopped(dir.path()), &target).await.unwrap();
    let refused = run(&stopped(other.path()), &target).await.unwrap_err();
    assert!(matches!(&refused, CopyError::NotEmpty(tables) if tables.len() == COPIED.len()), "{refused}");
    drop(target);

    // Other keys than those of the source.
    let wrong = Vault::new(&punctual_store::KeyRing::generate(&Counting));
    let refused = PostgresCopy::source(&url(&database), &[], &wrong).await.unwrap_err();
    assert!(matches!(refused, OpenError::WrongKey(_)), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_differs_is_told_and_no_server_starts_on_it() {
    let Some(database) = Database::new().await else { return };
    let dir = filled().await;
    let target = PostgresCopy::target(&url(&database), &[]).await.unwrap();
    // Everything but the end.
    let tables = plan(&stopped(dir.path()).shape().await.unwrap(), &target.shape().await.unwrap()).unwrap();
    let before_numbers = 1 + tables.len() + 2 + 1;
    let dying = Dying { target: &target, left: before_numbers.into(), after: true };
    run(&stopped(dir.path()), &dying).await.unwrap_err();
    let client = database.client().await;
    client
        .batch_execute("UPDATE agenda SET due_at = due_at + 1 WHERE job = 7; DELETE FROM graves; INSERT INTO graves VALUES (1)")
        .await
        .unwrap();
    let different = run(&stopped(dir.path()), &target).await.unwrap_err();
    let CopyError::Different(what) = &different else { panic!("{different:?}") };
    assert_eq!(what[0], "rows of agenda have other values in the target", "{what:?}");
    // The copy goes on behind the last row that it finds.
    assert_eq!(what[1], "graves has 1 rows and 2 in the target", "{what:?}");
    drop(target);
    let refused = PostgresStore::open(options(&database.url)).await.unwrap_err();
    assert!(matches!(refused, OpenError::Copying), "{refused}");
}
