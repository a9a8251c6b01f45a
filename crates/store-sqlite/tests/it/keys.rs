//! Keys are rotated under whoever works with the store, and old ones go when nothing needs them.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use punctual_model::access::Caller;
use punctual_model::audit::{AuditEntry, AuditOutcome, Author};
use punctual_model::{
    Action, ActionKind, Authentication, Collection, Entry, HttpAction, Job, RecordStatus, Scope, Secret,
};
use punctual_store::conformance::world::{World, a_job, at, settlement};
use punctual_store::{
    AuditAsk, AuditLog, Callers, KeyError, KeyRing, Refusal, Resources, Seals, Settled, Vault, WriteError,
};
use punctual_store_sqlite::{Keys, OpenError, SqliteStore, StoppedStore};
use rusqlite::Connection;

use crate::world::{Counting, open, options, ring};

/// Keys that follow one another, each of them another one.
fn rings() -> (KeyRing, KeyRing) {
    let random = Counting::default();
    // Those of `ring`.
    let first = KeyRing::generate(&random);
    let second = first.rotated(&random);
    (first, second)
}

fn with_password(password: &str) -> Action {
    let request = HttpAction {
        declared_https: false,
        uri: "https://example.com/".to_owned(),
        user_info: None,
        method: "GET".to_owned(),
        headers: Vec::new(),
        body: None,
        authentication: Some(Authentication::Basic {
            username: "user".to_owned(),
            password: Secret::new(password),
        }),
    };
    Action { kind: ActionKind::Http(request), retry: None, error_action: None }
}

fn password_of(job: &Job) -> String {
    match &job.spec.action.kind {
        ActionKind::Http(HttpAction {
            authentication: Some(Authentication::Basic { password, .. }), ..
        }) => password.expose().to_owned(),
        _ => String::new(),
    }
}

fn set_password(job: &mut Job, password: &str) {
    Arc::make_mut(&mut job.spec).action = with_password(password);
}

/// Jobs of a collection, every other one with a password.
async fn jobs(world: &World, collection: &Collection, count: usize) -> Vec<Job> {
    let mut made = Vec::new();
    for number in 0..count {
        let mut job = a_job(collection.key.job(format!("j{number}")), Some(at(1_000)));
        if number % 2 == 0 {
            set_password(&mut job, &format!("password of {number}"));
        }
        made.push(world.put_job(job, collection).await.unwrap());
    }
    made
}

async fn reseal_all(store: &SqliteStore, limit: usize) {
    while !store.reseal(limit).await.unwrap().done {}
}

fn note() -> AuditEntry {
    let caller = Caller { name: "alice".into(), ..Caller::anonymous() };
    let author = Author { action: "Punctual/keys/rotate/action".into(), ..Author::of(caller, at(0)) };
    author.entry(Scope::Everything, AuditOutcome::Done)
}

async fn subjects(store: &SqliteStore) -> Vec<String> {
    let page = store.audit(&AuditAsk { limit: 100, ..AuditAsk::default() }).await.unwrap();
    page.entries.iter().map(|stored| stored.entry.subject.to_string()).collect()
}

/// The numbers of the keys of every sealed blob in the file.
fn keys_in_file(dir: &Path) -> Vec<u32> {
    let conn = Connection::open(dir.join("punctual.db")).unwrap();
    let sql = "SELECT sealed FROM jobs WHERE sealed IS NOT NULL UNION ALL SELECT sealed FROM server_secrets
        UNION ALL SELECT key FROM audit_chain UNION ALL SELECT key_check FROM counters
        UNION ALL SELECT seal FROM keys WHERE seal IS NOT NULL";
    let mut statement = conn.prepare(sql).unwrap();
    let blobs = statement.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap().map(Result::unwrap);
    let mut keys: Vec<u32> = blobs.map(|blob| Vault::key_of(&blob).unwrap()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

#[tokio::test]
async fn everything_is_sealed_with_the_new_key_and_the_old_one_goes() {
    let (first, second) = rings();
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path()));
    let world = World::new(store.clone());
    let collection = world.collection("c").await;
    let made = jobs(&world, &collection, 101).await;
    let secret = store.keep_server_secret("signing key", &Secret::new("s")).await.unwrap();
    let seals = async || {
        let keys = store.keys().await.unwrap();
        keys.iter().map(|key| (key.id, key.seals, key.job_count, key.server_count)).collect::<Vec<_>>()
    };
    assert_eq!(seals().await, [(1, true, 51, 3)]);
    assert!(store.resealing().await.unwrap().done);
    assert!(matches!(store.retire_key(1, None).await, Err(KeyError::Seals { id: 1 })));

    store.seal_with(&second, Some(note())).await.unwrap();
    assert_eq!(seals().await, [(1, false, 51, 0), (2, true, 0, 3)]);
    let refused = store.retire_key(1, Some(note())).await.unwrap_err();
    assert_eq!(refused.to_string(), "key 1 is needed: 51 jobs are sealed with it");
    let step = store.reseal(10).await.unwrap();
    assert_eq!((step.key, step.visited_count, step.job_count, step.done), (2, 10, 101, false));
    assert_eq!(seals().await, [(1, false, 46, 0), (2, true, 5, 3)]);
    reseal_all(&store, 10).await;
    assert_eq!(seals().await, [(1, false, 0, 0), (2, true, 51, 3)]);

    store.retire_key(1, Some(note())).await.unwrap();
    assert_eq!(seals().await, [(2, true, 51, 3)]);
    assert!(matches!(store.retire_key(1, None).await, Err(KeyError::Unknown { id: 1 })));
    assert_eq!(subjects(&store).await, ["key 1", "key 2"], "each is noted once, and what was refused is not");
    for job in &made {
        assert_eq!(world.read(&job.key).await, *job, "with its revision and its secrets");
    }
    assert_eq!(store.server_secret("signing key").await.unwrap(), Some(secret));
    drop((world, store));
    assert_eq!(keys_in_file(dir.path()), [2]);
    let error = SqliteStore::open(options(dir.path(), &first)).unwrap_err();
    let told = error.to_string();
    assert!(told.starts_with("key 2 is missing, and sealed with it: 51 jobs and 3 secrets"), "{told}");
    let world = World::new(Arc::new(SqliteStore::open(options(dir.path(), &second.without(1))).unwrap()));
    for job in &made {
        assert_eq!(world.read(&job.key).await, *job);
    }
}

#[tokio::test]
async fn sealing_anew_changes_nothing_but_the_sealed_form() {
    let dump = |dir: &Path| -> String {
        let conn = Connection::open(dir.join("punctual.db")).unwrap();
        let mut statement = conn.prepare("SELECT * FROM agenda ORDER BY job").unwrap();
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            (0..columns)
                .map(|column| row.get::<_, rusqlite::types::Value>(column))
                .collect::<Result<Vec<_>, _>>()
        });
        format!("{:?}", rows.unwrap().map(Result::unwrap).collect::<Vec<_>>())
    };
    let (_, second) = rings();
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path()));
    let world = World::new(store.clone());
    let collection = world.collection("c").await;
    jobs(&world, &collection, 20).await;
    let claim = world.begun(at(1_000)).await;
    let changes = world.store.changes();
    let before = dump(dir.path());
    store.seal_with(&second, None).await.unwrap();
    reseal_all(&store, 3).await;
    store.retire_key(1, None).await.unwrap();
    assert_eq!(dump(dir.path()), before);
    assert!(!changes.has_changed().unwrap(), "nobody is woken");
    world.run(&claim, RecordStatus::Completed, Some(at(2_000))).await;
}

#[tokio::test]
async fn sealing_anew_goes_on_where_it_was_after_a_crash() {
    let (first, second) = rings();
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    let made = jobs(&world, &collection, 40).await;
    drop(world);

    // A key that was added to the ring seals from the start on.
    let mut with_note = options(dir.path(), &second);
    with_note.note = Some(note());
    let store = SqliteStore::open(with_note).unwrap();
    assert_eq!(subjects(&store).await, ["key 2"]);
    assert_eq!(store.reseal(15).await.unwrap().visited_count, 15);
    drop(store);
    let error = SqliteStore::open(options(dir.path(), &second.without(1))).unwrap_err();
    assert!(matches!(&error, OpenError::MissingKeys(missing) if missing.len() == 1), "{error}");
    assert!(error.to_string().starts_with("key 1 is missing, and sealed with it: 12 jobs:"), "{error}");
    let lacking = StoppedStore::open(dir.path(), Some(Vault::new(&second.without(1)))).unwrap();
    assert!(matches!(lacking.keys(), Keys::Lacking(key) if (key.id, key.job_count) == (1, 12)));
    drop(lacking);
    assert!(matches!(SqliteStore::open(options(dir.path(), &first)), Err(OpenError::MissingKeys(_))));

    let store = Arc::new(SqliteStore::open(options(dir.path(), &second)).unwrap());
    assert_eq!(subjects(&store).await, ["key 2"], "once");
    let step = store.resealing().await.unwrap();
    assert_eq!((step.visited_count, step.done), (15, false), "it is not begun anew");
    reseal_all(&store, 15).await;
    drop(store);
    // Whoever takes a key away that nothing needs retires it.
    let store = Arc::new(SqliteStore::open(options(dir.path(), &second.without(1))).unwrap());
    let world = World::new(store.clone());
    for job in &made {
        assert_eq!(world.read(&job.key).await, *job);
    }
    drop((world, store));
    let store = SqliteStore::open(options(dir.path(), &second)).unwrap();
    let keys: Vec<u32> = store.keys().await.unwrap().iter().map(|key| key.id).collect();
    assert_eq!(keys, [2], "a retired key that is still there is not used");
}

#[tokio::test]
async fn another_key_of_the_same_number_is_refused() {
    let (first, second) = rings();
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let random = Counting::default();
    random.skip(9);
    let other = KeyRing::generate(&random);
    let forged = other.rotated(&random);
    let refused = store.seal_with(&forged, None).await;
    assert!(matches!(refused, Err(KeyError::Different { id: 1 })), "{refused:?}");
    let refused = store.seal_with(&second.without(1), None).await;
    assert!(matches!(refused, Err(KeyError::Missing { id: 1 })), "{refused:?}");
    assert_eq!(store.keys().await.unwrap().len(), 1, "nothing was changed");
    store.seal_with(&second, None).await.unwrap();
    let refused = store.seal_with(&first, None).await;
    assert!(matches!(refused, Err(KeyError::Different { id: 2 })), "{refused:?}");
    drop(store);
    let error = SqliteStore::open(options(dir.path(), &forged)).unwrap_err();
    assert!(matches!(error, OpenError::WrongKey(_)), "{error}");
    // Its newest key is the right one, an older one is not.
    let text = second.render().expose().replace(
        first.newest_line().expose().split(' ').nth(1).unwrap().trim(),
        other.newest_line().expose().split(' ').nth(1).unwrap().trim(),
    );
    let mixed = KeyRing::parse(&text).unwrap();
    let error = SqliteStore::open(options(dir.path(), &mixed)).unwrap_err();
    assert!(matches!(error, OpenError::DifferentKey { id: 1 }), "{error}");
    assert_eq!(StoppedStore::open(dir.path(), Some(Vault::new(&mixed))).unwrap().keys(), Keys::Wrong);
    assert_eq!(StoppedStore::open(dir.path(), Some(Vault::new(&second))).unwrap().keys(), Keys::Fit);
}

#[tokio::test]
async fn what_an_earlier_version_left_sealed_with_an_old_key_is_sealed_anew() {
    let (_, second) = rings();
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path()));
    let world = World::new(store.clone());
    let collection = world.collection("c").await;
    jobs(&world, &collection, 6).await;
    drop((world, store));
    // It knew several keys, and nothing of this.
    let forget = || {
        let conn = Connection::open(dir.path().join("punctual.db")).unwrap();
        conn.execute_batch("DELETE FROM keys; DELETE FROM resealing").unwrap();
    };
    forget();
    let error = SqliteStore::open(options(dir.path(), &second.without(1))).unwrap_err();
    assert!(matches!(&error, OpenError::MissingKeys(missing) if missing[0].id == 1), "{error}");
    let store = SqliteStore::open(options(dir.path(), &second)).unwrap();
    assert!(!store.resealing().await.unwrap().done);
    reseal_all(&store, 4).await;
    drop(store);
    assert_eq!(keys_in_file(dir.path()), [1, 2], "the text of each key, and nothing else of the first");
    forget();
    let store = SqliteStore::open(options(dir.path(), &second)).unwrap();
    assert!(store.resealing().await.unwrap().done, "there is nothing to do");
    store.retire_key(1, None).await.unwrap();
}

#[tokio::test]
async fn what_was_stored_in_the_clear_is_sealed_by_a_rotation() {
    const MARK: &str = "clear-credential";
    let shows = |dir: &Path| {
        let bytes = std::fs::read(dir.join("punctual.db")).unwrap();
        bytes.windows(MARK.len()).any(|part| part == MARK.as_bytes())
    };
    let (_, second) = rings();
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    drop(world);
    let before = format!(
        "1{{\"action\":{{\"kind\":{{\"http\":{{\"uri\":\"http://user:{MARK}@example.com/\",\"method\":\"GET\",\
         \"headers\":[[\"Authorization\",\"{MARK}\"]]}}}}}},\"enabled\":true}}"
    );
    let conn = Connection::open(dir.path().join("punctual.db")).unwrap();
    conn.execute("UPDATE jobs SET document = ?1", [before.as_bytes()]).unwrap();
    drop(conn);
    let store = Arc::new(open(dir.path()));
    let world = World::new(store.clone());
    let read = world.read(&job.key).await;
    drop((world, store));
    assert!(shows(dir.path()), "a start alone leaves it as it is");

    let store = Arc::new(SqliteStore::open(options(dir.path(), &second)).unwrap());
    reseal_all(&store, 10).await;
    let world = World::new(store.clone());
    assert_eq!(world.read(&job.key).await, read);
    drop((world, store));
    assert!(!shows(dir.path()));
}

#[tokio::test]
async fn a_job_that_can_not_be_opened_keeps_its_key_until_it_goes() {
    let (_, second) = rings();
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path()));
    let world = World::new(store.clone());
    let collection = world.collection("c").await;
    let made = jobs(&world, &collection, 6).await;
    drop((world, store));
    let conn = Connection::open(dir.path().join("punctual.db")).unwrap();
    // One whose seal is broken, and one that names a key which there never was.
    conn.execute("UPDATE jobs SET sealed = CAST(sealed || x'00' AS BLOB) WHERE id = 1", []).unwrap();
    conn.execute("UPDATE jobs SET sealed = CAST(x'0177777777' || zeroblob(40) AS BLOB) WHERE id = 3", [])
        .unwrap();
    drop(conn);
    let store = Arc::new(open(dir.path()));
    let world = World::new(store.clone());
    store.seal_with(&second, None).await.unwrap();
    reseal_all(&store, 2).await;
    let refused = store.retire_key(1, None).await.unwrap_err();
    assert_eq!(refused.to_string(), "key 1 is needed: 1 job is sealed with it");
    assert!(store.delete_job(&made[0].key, None).await.unwrap());
    store.retire_key(1, None).await.unwrap();
    drop((world, store));
    SqliteStore::open(options(dir.path(), &second.without(1))).unwrap();
}

#[tokio::test]
async fn what_old_keys_have_sealed_is_gone_from_the_files() {
    let (_, second) = rings();
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path()));
    let world = World::new(store.clone());
    let collection = world.collection("c").await;
    let mut made = jobs(&world, &collection, 400).await;
    // Some that need pages of their own, some that grow and shrink, some that go.
    for (number, job) in made.iter_mut().enumerate().step_by(7) {
        set_password(job, &"x".repeat(number * 40));
        *job = world.put_job(job.clone(), &collection).await.unwrap();
    }
    let blobs = |dir: &Path| -> Vec<Vec<u8>> {
        let conn = Connection::open(dir.join("punctual.db")).unwrap();
        let mut statement = conn.prepare("SELECT sealed FROM jobs WHERE sealed IS NOT NULL").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let old = blobs(dir.path());
    for job in made.iter().step_by(50) {
        assert!(store.delete_job(&job.key, None).await.unwrap());
    }
    store.seal_with(&second, None).await.unwrap();
    reseal_all(&store, 64).await;
    store.retire_key(1, None).await.unwrap();
    drop((world, store));
    assert!(!dir.path().join("punctual.db-wal").exists());
    let file = std::fs::read(dir.path().join("punctual.db")).unwrap();
    let found = |blobs: &[Vec<u8>]| {
        // The middle of each, since what is overwritten may lack its beginning or its end.
        let middle = |blob: &Vec<u8>| blob[blob.len() / 2 - 8..blob.len() / 2 + 8].to_vec();
        let parts: HashSet<Vec<u8>> = blobs.iter().map(middle).collect();
        file.windows(16).filter(|part| parts.contains(*part)).count()
    };
    assert!(found(&blobs(dir.path())) > 200, "the test would have seen one");
    assert_eq!((old.len() > 200, found(&old)), (true, 0));
}

#[tokio::test]
async fn what_was_sealed_before_the_key_changed_is_not_written_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path()));
    let world = World::new(store.clone());
    let collection = world.collection("c").await;
    let random = Counting::default();
    random.skip(100);
    let mut ring = ring();
    for round in 0..40 {
        let old = ring.newest();
        ring = ring.rotated(&random);
        let mut job = a_job(collection.key.job(format!("j{round}")), None);
        set_password(&mut job, "password");
        // The job is sealed while the other waits for the writer, and comes behind it.
        let (rotated, written) =
            tokio::join!(store.seal_with(&ring, None), world.put_job(job.clone(), &collection));
        rotated.unwrap();
        match written {
            Ok(_) | Err(WriteError::Refused(Refusal::Stale)) => {}
            Err(error) => panic!("{error}"),
        }
        reseal_all(&store, 100).await;
        store.retire_key(old, None).await.unwrap();
        ring = ring.without(old);
    }
}

/// Writes a job until nobody was faster.
async fn write(world: &World, collection: &Collection, job: &Job, password: &str) {
    loop {
        let mut job = world.read(&job.key).await;
        set_password(&mut job, password);
        match world.put_job(job, collection).await {
            Ok(_) => return,
            Err(WriteError::Refused(Refusal::Stale)) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn keys_are_rotated_and_retired_under_load_and_nothing_is_lost() {
    const JOBS: usize = 60;
    const ROTATIONS: usize = 8;
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path()));
    let world = World::new(store.clone());
    let collection = world.collection("c").await;
    let mut made = jobs(&world, &collection, JOBS).await;
    for job in &mut made {
        job.progress.entry = Some(Entry::scheduled(at(0)));
        set_password(job, "the first");
        *job = world.put_job(job.clone(), &collection).await.unwrap();
    }
    let over = Arc::new(AtomicBool::new(false));
    let mut tasks = tokio::task::JoinSet::new();
    for part in made.chunks(JOBS / 3).map(<[Job]>::to_vec) {
        let (world, collection, over) = (world.clone(), collection.clone(), over.clone());
        tasks.spawn(async move {
            let mut round = 0;
            while !over.load(Ordering::Relaxed) {
                round += 1;
                for job in &part {
                    write(&world, &collection, job, &format!("{} {round}", job.key.name)).await;
                }
            }
            let expected = |job: &Job| (job.key.clone(), format!("{} {round}", job.key.name));
            part.iter().map(expected).collect::<Vec<_>>()
        });
    }
    let (firing, until) = (world.clone(), over.clone());
    let fired = tokio::spawn(async move {
        let mut count = 0;
        while !until.load(Ordering::Relaxed) {
            for claim in firing.claim(at(0), 10).await {
                assert!(!password_of(&claim.job).is_empty(), "its secret is there");
                firing.store.begin(&[claim.fence]).await.unwrap();
                let again = settlement(&claim, RecordStatus::Completed, Some(at(0)));
                count += u32::from(matches!(firing.settle(again).await, Settled::Recorded));
            }
            tokio::task::yield_now().await;
        }
        count
    });

    let random = Counting::default();
    let mut ring = ring();
    random.skip(100);
    for _ in 0..ROTATIONS {
        let old = ring.newest();
        ring = ring.rotated(&random);
        store.seal_with(&ring, None).await.unwrap();
        reseal_all(&store, 7).await;
        store.retire_key(old, None).await.unwrap();
        ring = ring.without(old);
    }
    over.store(true, Ordering::Relaxed);
    let mut expected = Vec::new();
    while let Some(part) = tasks.join_next().await {
        expected.extend(part.unwrap());
    }
    fired.await.unwrap();
    assert_eq!(expected.len(), JOBS);
    for (key, password) in &expected {
        assert_eq!(password_of(&world.read(key).await), *password, "the last write is there");
    }
    drop((world, store));
    assert_eq!(keys_in_file(dir.path()), [ring.newest()]);
    let world = World::new(Arc::new(SqliteStore::open(options(dir.path(), &ring)).unwrap()));
    for (key, password) in &expected {
        assert_eq!(password_of(&world.read(key).await), *password);
    }
}
