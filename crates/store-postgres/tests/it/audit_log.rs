//! The audit log, where entries are written at once by several.

use std::sync::Arc;

use punctual_store::conformance::world::{World, a_job, at};
use punctual_store::{AuditLog, Resources, Store, Trouble};

use crate::server::Database;
use crate::world::open;

#[tokio::test]
async fn an_entry_that_becomes_visible_late_is_sealed_and_not_put_in_later() {
    let Some(database) = Database::new().await else { return };
    let (one, other) = (Arc::new(open(&database).await), open(&database).await);
    let world = World::new(Arc::clone(&one) as Arc<dyn Store>);
    let collection = world.collection("c").await;
    // Somebody has his number, and has not committed yet.
    let late = database.client().await;
    late.batch_execute("BEGIN; INSERT INTO audit (entry) VALUES ('late')").await.unwrap();
    one.append_audit(Vec::new()).await.unwrap();
    let mut write = punctual_store::JobWrite {
        job: a_job(collection.key.job("j"), None),
        collection_revision: collection.revision,
        skips: Vec::new(),
        job_count_max: 9,
        rerun: None,
        note: None,
    };
    write.note = Some(entry());
    one.put_job(write).await.unwrap();
    let busy = other.seal_audit(at(1), 100).await;
    assert!(matches!(busy, Err(Trouble::Busy { .. })), "who seals waits for him: {busy:?}");
    late.batch_execute("COMMIT").await.unwrap();
    assert_eq!(other.seal_audit(at(1), 100).await.unwrap(), 2);
    let found = one.verify_audit(None, 100).await.unwrap();
    assert_eq!((found.checked, found.problems), (2, Vec::new()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_who_seal_at_once_do_not_fork_the_chain() {
    let Some(database) = Database::new().await else { return };
    let (one, other) = (Arc::new(open(&database).await), Arc::new(open(&database).await));
    let mut tasks = tokio::task::JoinSet::new();
    for store in [&one, &other, &one, &other] {
        let store = Arc::clone(store);
        tasks.spawn(async move {
            for second in 0..10 {
                store.append_audit(vec![entry()]).await.unwrap();
                store.seal_audit(at(second), 3).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    while one.seal_audit(at(99), 100).await.unwrap() > 0 {}
    let found = one.verify_audit(None, 1_000).await.unwrap();
    assert_eq!((found.checked, found.problems, found.unsealed), (40, Vec::new(), 0));
}

fn entry() -> punctual_model::audit::AuditEntry {
    use punctual_model::Scope;
    use punctual_model::access::Caller;
    use punctual_model::audit::{AuditOutcome, Author};
    Author::of(Caller::anonymous(), at(0)).entry(Scope::Everything, AuditOutcome::Done)
}
