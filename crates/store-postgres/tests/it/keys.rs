//! Keys of nodes that share a database: a new one seals when all of them know it, and an old one goes when nothing needs it.

use std::sync::Arc;
use std::time::Duration;

use punctual_model::access::Caller;
use punctual_model::audit::{AuditEntry, AuditOutcome, Author};
use punctual_model::{Action, ActionKind, Authentication, Collection, HttpAction, Job, Scope, Secret};
use punctual_store::conformance::world::{World, a_job, at};
use punctual_store::{
    AuditAsk, AuditLog, Callers, KeyError, KeyRing, Refusal, Roster, SealContext, Seals, Store, Vault,
    WriteError,
};
use punctual_store_postgres::{OpenError, PostgresStore};

use crate::server::Database;
use crate::world::{Counting, options, ring};

/// The keys that others have, and those with a new one.
fn rings() -> (KeyRing, KeyRing) {
    let first = ring();
    let second = first.rotated(&Counting);
    (first, second)
}

async fn open(database: &Database, name: &str, ring: &KeyRing) -> Result<Arc<PostgresStore>, OpenError> {
    let mut options = options(&database.url);
    options.vault = Arc::new(Vault::new(ring));
    options.identity.name = name.to_owned();
    options.key_note = Some(note());
    PostgresStore::open(options).await.map(Arc::new)
}

fn note() -> AuditEntry {
    let caller = Caller { name: "alice".into(), ..Caller::anonymous() };
    let author = Author { action: "Punctual/keys/rotate/action".into(), ..Author::of(caller, at(0)) };
    author.entry(Scope::Everything, AuditOutcome::Done)
}

async fn subjects(store: &PostgresStore) -> Vec<String> {
    let page = store.audit(&AuditAsk { limit: 100, ..AuditAsk::default() }).await.unwrap();
    page.entries.iter().map(|stored| stored.entry.subject.to_string()).collect()
}

fn set_password(job: &mut Job, password: &str) {
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
    let action = Action { kind: ActionKind::Http(request), retry: None, error_action: None };
    Arc::make_mut(&mut job.spec).action = action;
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

async fn reseal_all(store: &PostgresStore, limit: usize) {
    while !store.reseal(limit).await.unwrap().done {}
}

async fn uses(store: &PostgresStore) -> Vec<(u32, bool, u64, u64)> {
    let keys = store.keys().await.unwrap();
    keys.iter().map(|key| (key.id, key.seals, key.job_count, key.server_count)).collect()
}

/// Waits until a node has done as others decided.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap_or_else(|_| panic!("{what}"));
}

#[tokio::test]
async fn everything_is_sealed_with_the_new_key_and_the_old_one_goes() {
    let Some(database) = Database::new().await else { return };
    let (first, second) = rings();
    let store = open(&database, "a", &first).await.unwrap();
    let world = World::new(Arc::clone(&store) as Arc<dyn Store>);
    let collection = world.collection("c").await;
    let made = jobs(&world, &collection, 101).await;
    let secret = store.keep_server_secret("signing key", &Secret::new("s")).await.unwrap();
    assert_eq!(uses(&store).await, [(1, true, 51, 3)]);
    assert!(store.resealing().await.unwrap().done);
    assert!(matches!(store.retire_key(1, None).await, Err(KeyError::Seals { id: 1 })));

    store.seal_with(&second, Some(note())).await.unwrap();
    assert_eq!(uses(&store).await, [(1, false, 51, 0), (2, true, 0, 3)]);
    let refused = store.retire_key(1, Some(note())).await.unwrap_err();
    assert_eq!(refused.to_string(), "key 1 is needed: 51 jobs are sealed with it");
    let step = store.reseal(10).await.unwrap();
    assert_eq!((step.key, step.visited_count, step.job_count, step.done), (2, 10, 101, false));
    assert_eq!(uses(&store).await, [(1, false, 46, 0), (2, true, 5, 3)]);
    reseal_all(&store, 10).await;
    assert_eq!(uses(&store).await, [(1, false, 0, 0), (2, true, 51, 3)]);

    store.retire_key(1, Some(note())).await.unwrap();
    assert_eq!(uses(&store).await, [(2, true, 51, 3)]);
    assert!(matches!(store.retire_key(1, None).await, Err(KeyError::Unknown { id: 1 })));
    assert_eq!(subjects(&store).await, ["key 1", "key 2"], "each is noted once, and what was refused is not");
    for job in &made {
        assert_eq!(world.read(&job.key).await, *job, "with its revision and its secrets");
    }
    assert_eq!(store.server_secret("signing key").await.unwrap(), Some(secret));
    store.leave().await.unwrap();
    drop((world, store));
    let error = open(&database, "a", &first).await.unwrap_err().to_string();
    assert!(error.starts_with("key 2 is missing, and sealed with it: 51 jobs and 3 secrets"), "{error}");
    let store = open(&database, "a", &second).await.unwrap();
    assert_eq!(uses(&store).await, [(2, true, 51, 3)], "a retired key that is still there is not used");
}

#[tokio::test]
async fn a_new_key_seals_when_the_last_node_knows_it() {
    let Some(database) = Database::new().await else { return };
    let (first, second) = rings();
    let one = open(&database, "one", &first).await.unwrap();
    let other = open(&database, "other", &first).await.unwrap();
    let world = World::new(Arc::clone(&one) as Arc<dyn Store>);
    let collection = world.collection("c").await;
    let made = jobs(&world, &collection, 6).await;

    let waits = one.seal_with(&second, Some(note())).await.unwrap_err();
    assert!(
        matches!(&waits, KeyError::Waits { id: 2, nodes } if nodes[..] == ["other".to_owned()]),
        "{waits}"
    );
    assert_eq!(uses(&one).await, [(1, true, 3, 2), (2, false, 0, 0)], "it is known, and does not seal");
    let waits = one.seal_with(&second, Some(note())).await.unwrap_err();
    assert!(matches!(waits, KeyError::Waits { .. }), "as often as it is asked for");
    assert!(one.reseal(100).await.unwrap().done, "there is nothing to do yet");

    other.seal_with(&second, Some(note())).await.unwrap();
    assert_eq!(subjects(&one).await, ["key 2"], "once");
    let seals = async |store: &PostgresStore| uses(store).await.iter().any(|key| key.0 == 2 && key.1);
    until("the other one seals with it", async || seals(&one).await).await;
    reseal_all(&one, 2).await;
    assert_eq!(uses(&other).await, [(1, false, 0, 0), (2, true, 3, 2)]);
    let there = World::new(Arc::clone(&other) as Arc<dyn Store>);
    for job in &made {
        assert_eq!(there.read(&job.key).await, *job);
    }
    other.retire_key(1, Some(note())).await.unwrap();
    until("the other one forgets it", async || uses(&one).await.len() == 1).await;
}

#[tokio::test]
async fn a_node_that_is_gone_is_not_waited_for() {
    let Some(database) = Database::new().await else { return };
    let (first, second) = rings();
    let one = open(&database, "one", &first).await.unwrap();
    let other = open(&database, "other", &first).await.unwrap();
    assert!(matches!(one.seal_with(&second, Some(note())).await, Err(KeyError::Waits { .. })));
    other.leave().await.unwrap();
    until("it seals", async || uses(&one).await.iter().any(|key| key.0 == 2 && key.1)).await;
    let error = open(&database, "third", &first).await.unwrap_err();
    assert!(matches!(&error, OpenError::MissingKeys(keys) if keys[0].id == 2), "{error}");
}

#[tokio::test]
async fn a_node_starts_with_a_key_more_and_with_none_less_and_none_other() {
    let Some(database) = Database::new().await else { return };
    let (first, second) = rings();
    let one = open(&database, "one", &first).await.unwrap();
    let more = open(&database, "more", &second).await.unwrap();
    assert_eq!(uses(&more).await, [(1, true, 0, 2), (2, false, 0, 0)], "the first does not know it yet");
    let world = World::new(Arc::clone(&more) as Arc<dyn Store>);
    let collection = world.collection("c").await;
    let made = jobs(&world, &collection, 1).await;
    let there = World::new(Arc::clone(&one) as Arc<dyn Store>);
    assert_eq!(there.read(&made[0].key).await, made[0], "what one writes the other can read");

    let other = KeyRing::generate(&Counting);
    let error = open(&database, "wrong", &other).await.unwrap_err();
    assert!(matches!(error, OpenError::WrongKey(_)), "{error}");
    let error = open(&database, "less", &second.without(1)).await.unwrap_err();
    assert!(matches!(&error, OpenError::MissingKeys(keys) if keys[0].id == 1), "{error}");
    let forged = first.rotated(&Counting);
    let error = open(&database, "forged", &forged).await.unwrap_err();
    assert!(matches!(error, OpenError::DifferentKey { id: 2 }), "{error}");
    let refused = one.seal_with(&forged, None).await.unwrap_err();
    assert!(matches!(refused, KeyError::Different { id: 2 }), "{refused}");
    let refused = more.seal_with(&first, None).await.unwrap_err();
    assert!(matches!(refused, KeyError::Missing { id: 2 }), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_sealed_before_the_key_changed_is_not_written_after_it() {
    let Some(database) = Database::new().await else { return };
    let mut ring = ring();
    let one = open(&database, "one", &ring).await.unwrap();
    let other = open(&database, "other", &ring).await.unwrap();
    let worlds = [&one, &other].map(|store| World::new(Arc::clone(store) as Arc<dyn Store>));
    let collection = worlds[0].collection("c").await;
    for round in 0..10 {
        let old = ring.newest();
        ring = ring.rotated(&Counting);
        let waits = other.seal_with(&ring, None).await;
        assert!(matches!(waits, Err(KeyError::Waits { .. })), "{waits:?}");
        let job = |node: usize| {
            let mut job = a_job(collection.key.job(format!("j{round} of {node}")), None);
            set_password(&mut job, "password");
            job
        };
        let (rotated, here, there) = tokio::join!(
            one.seal_with(&ring, None),
            worlds[0].put_job(job(0), &collection),
            worlds[1].put_job(job(1), &collection)
        );
        rotated.unwrap();
        for written in [here, there] {
            match written {
                Ok(_) | Err(WriteError::Refused(Refusal::Stale)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        reseal_all(&one, 100).await;
        one.retire_key(old, None).await.unwrap();
        let sealed: i64 = database
            .client()
            .await
            .query_one(
                "SELECT count(*) FROM jobs WHERE substring(sealed FROM 2 FOR 4) <> $1",
                &[&ring.newest().to_be_bytes().to_vec()],
            )
            .await
            .unwrap()
            .get(0);
        assert_eq!(sealed, 0, "round {round}");
    }
}

#[tokio::test]
async fn a_retired_key_does_not_begin_to_seal_on_a_node_that_has_not_heard_of_it() {
    let Some(database) = Database::new().await else { return };
    let (first, second) = rings();
    let one = open(&database, "one", &first).await.unwrap();
    let other = open(&database, "other", &first).await.unwrap();
    assert!(matches!(one.seal_with(&second, None).await, Err(KeyError::Waits { .. })));
    let client = database.client().await;
    // As another node does it, before this one looks.
    client.batch_execute("UPDATE keys SET seal = NULL WHERE id = 2").await.unwrap();
    other.leave().await.unwrap();
    let beat = async || -> i64 { client.query_one("SELECT max(beat) FROM nodes", &[]).await.unwrap().get(0) };
    let before = beat().await;
    until("it looks at the keys", async || beat().await > before + 2).await;
    assert_eq!(uses(&one).await, [(1, true, 0, 2), (2, false, 0, 0)]);
}

#[tokio::test]
async fn two_nodes_do_not_bring_different_keys_of_one_number_at_the_same_moment() {
    let Some(database) = Database::new().await else { return };
    let (first, second) = rings();
    let one = open(&database, "one", &first).await.unwrap();
    let forged = Vault::new(&first.rotated(&Counting));
    let context = SealContext { kind: "key", row: 2 };
    let seal = forged.seal_by(2, context, b"punctual", &Counting).unwrap();
    let (mut client, watcher) = (database.client().await, database.client().await);
    // The other node has written its key, and not committed.
    let transaction = client.transaction().await.unwrap();
    transaction.execute("INSERT INTO keys (id, seal) VALUES (2, $1)", &[&seal]).await.unwrap();
    let commit = async {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO keys%'
            AND pg_backend_pid() <> pid AND $1 = ANY (pg_blocking_pids(pid))";
        let pid: i32 = transaction.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
        until("the first one waits for it", async || {
            watcher.query_one(waiting, &[&pid]).await.unwrap().get::<_, i64>(0) == 1
        })
        .await;
        transaction.commit().await.unwrap();
    };
    let (refused, ()) = tokio::join!(one.seal_with(&second, None), commit);
    assert!(matches!(refused, Err(KeyError::Different { id: 2 })), "{refused:?}");
    assert_eq!(uses(&one).await, [(1, true, 0, 2)]);
}

/// Every column that holds bytes, and whether they are sealed. Who adds one says here which it is, and if it is sealed, has it
/// sealed anew when a key is rotated, and counted before one is retired.
const BYTES: [(&str, &str, bool); 23] = [
    ("agenda", "ahead", false),
    ("agenda", "runs", false),
    ("audit", "entry", false),
    ("audit_chain", "anchor_code", false),
    ("audit_chain", "key", true),
    ("audit_pieces", "code", false),
    ("audit_pieces", "entries", false),
    ("collections", "document", false),
    ("counters", "key_check", true),
    ("history", "message", false),
    ("jobs", "document", false),
    ("jobs", "sealed", true),
    ("keys", "seal", true),
    ("receipts", "key", false),
    ("server_secrets", "sealed", true),
    ("sessions", "caller", false),
    ("sessions", "hash", false),
    ("sessions", "holder", false),
    ("sessions", "issuer", false),
    ("stats_hours", "counts", false),
    ("stats_minutes", "counts", false),
    ("tokens", "grants", false),
    ("tokens", "hash", false),
];

#[tokio::test]
async fn every_place_that_holds_something_sealed_is_known() {
    let Some(database) = Database::new().await else { return };
    let _store = open(&database, "one", &ring()).await.unwrap();
    let sql = "SELECT table_name::text, column_name::text FROM information_schema.columns
        WHERE table_schema = current_schema() AND data_type = 'bytea'";
    let rows = database.client().await.query(sql, &[]).await.unwrap();
    let mut found: Vec<(String, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    found.sort();
    let listed: Vec<(String, String)> =
        BYTES.iter().map(|(table, column, _)| ((*table).to_owned(), (*column).to_owned())).collect();
    assert_eq!(found, listed);
    let sealed: Vec<&str> = BYTES.iter().filter(|(.., sealed)| *sealed).map(|(table, ..)| *table).collect();
    assert_eq!(sealed, ["audit_chain", "counters", "jobs", "keys", "server_secrets"]);
}
