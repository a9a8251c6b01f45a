//! The audit log: written with changes, sealed in pieces, checked.

#![expect(missing_docs, reason = "the names are the claims")]

use std::sync::Arc;

use punctual_model::access::Caller;
use punctual_model::audit::{AuditEntry, AuditOutcome, Author};
use punctual_model::{Scope, TICK};

use super::world::{a_collection, a_job, at};
use crate::{AuditAsk, AuditLog, CollectionWrite, JobWrite, Resources};

fn entry(who: &str, second: i64) -> AuditEntry {
    let caller = Caller { name: who.into(), id: format!("id of {who}").into(), ..Caller::anonymous() };
    let author =
        Author { action: "x/write".into(), source: "192.0.2.7".into(), ..Author::of(caller, at(second)) };
    author.entry(Scope::Everything, AuditOutcome::Done)
}

async fn callers(store: &impl AuditLog) -> Vec<String> {
    let ask = AuditAsk { limit: 100, ..AuditAsk::default() };
    let page = store.audit(&ask).await.unwrap();
    assert!(page.unreadable.is_empty());
    page.entries.iter().map(|stored| stored.entry.caller_name.to_string()).collect()
}

pub async fn a_change_is_noted_with_it<S: Resources + AuditLog + 'static>(store: Arc<S>) {
    let note = |who: &str| Some(entry(who, 0));
    let mut write = CollectionWrite {
        collection: a_collection("c"),
        jobs: Vec::new(),
        skips: Vec::new(),
        job_count_seen: None,
        collection_count_max: 9,
        note: note("maker"),
    };
    let collection = store.put_collection(write.clone()).await.unwrap();
    write.note = note("too late");
    store.put_collection(write).await.unwrap_err();
    let job = JobWrite {
        job: a_job(collection.key.job("j"), None),
        collection_revision: collection.revision,
        skips: Vec::new(),
        job_count_max: 9,
        rerun: None,
        note: note("author"),
    };
    let written = store.put_job(job.clone()).await.unwrap();
    store.put_job(JobWrite { note: note("stale"), ..job }).await.unwrap_err();
    assert!(store.delete_job(&written.key, note("remover")).await.unwrap());
    assert!(!store.delete_job(&written.key, note("nothing left")).await.unwrap());
    assert!(store.delete_collection(&collection.key, note("sweeper")).await.unwrap());
    assert!(store.delete_group(&collection.key.group, note("last")).await.unwrap());
    assert_eq!(callers(&*store).await, ["last", "sweeper", "remover", "author", "maker"]);
}

pub async fn entries_read_back_in_pages<S: AuditLog + 'static>(store: Arc<S>) {
    let entries: Vec<AuditEntry> =
        (0..25).map(|index| entry(if index % 2 == 0 { "even" } else { "odd" }, index)).collect();
    store.append_audit(entries.clone()).await.unwrap();
    let mut ask = AuditAsk { limit: 10, ..AuditAsk::default() };
    let mut found = Vec::new();
    loop {
        let page = store.audit(&ask).await.unwrap();
        found.extend(page.entries.into_iter().map(|stored| stored.entry));
        let Some(next) = page.next else { break };
        ask.before = Some(next);
    }
    found.reverse();
    assert_eq!(found, entries);
    let some = AuditAsk { caller: Some("id of odd".to_owned()), from: Some(at(4)), to: Some(at(9)), ..ask };
    let page = store.audit(&AuditAsk { before: None, ..some }).await.unwrap();
    let times: Vec<_> = page.entries.iter().map(|stored| stored.entry.at).collect();
    assert_eq!((times, page.next), (vec![at(7), at(5)], None));
    let nowhere = AuditAsk { scopes: Some(Vec::new()), limit: 1, ..AuditAsk::default() };
    let page = store.audit(&nowhere).await.unwrap();
    assert_eq!((page.entries.len(), page.next), (0, None), "what is not asked for makes no pages");
}

pub async fn what_was_sealed_is_verified_in_parts<S: AuditLog + 'static>(store: Arc<S>) {
    let found = store.verify_audit(None, 100).await.unwrap();
    assert_eq!((found.checked, found.unsealed, found.head), (0, 0, None));
    for piece in 0..4 {
        store.append_audit((0..5).map(|index| entry("x", piece * 10 + index)).collect()).await.unwrap();
        assert_eq!(store.seal_audit(at(piece), 100).await.unwrap(), 5);
        assert_eq!(store.seal_audit(at(piece), 100).await.unwrap(), 0, "everything is sealed");
    }
    store.append_audit(vec![entry("new", 99)]).await.unwrap();
    let first = store.verify_audit(None, 6).await.unwrap();
    assert_eq!((first.checked, first.problems.len(), first.next), (10, 0, Some(2)));
    let rest = store.verify_audit(first.next, 100).await.unwrap();
    assert_eq!((rest.checked, rest.problems.len(), rest.next, rest.unsealed), (10, 0, None, 1));
    assert_eq!(rest.head.map(|(piece, _)| piece), Some(4));
}

pub async fn what_is_old_goes_and_the_rest_still_fits<S: AuditLog + 'static>(store: Arc<S>) {
    for piece in 0..4 {
        store.append_audit(vec![entry("x", piece), entry("y", piece)]).await.unwrap();
        store.seal_audit(at(piece), 100).await.unwrap();
    }
    let after = |second: i64| at(second) + TICK;
    assert_eq!(store.prune_audit(after(1), 100).await.unwrap(), 4);
    let found = store.verify_audit(None, 100).await.unwrap();
    assert_eq!((found.checked, found.problems), (4, Vec::new()));
    assert_eq!(callers(&*store).await.len(), 4);
    // The last piece stays, so that the chain has an end.
    assert_eq!(store.prune_audit(after(9), 100).await.unwrap(), 2);
    store.append_audit(vec![entry("z", 9)]).await.unwrap();
    assert_eq!(store.seal_audit(at(9), 100).await.unwrap(), 1);
    let found = store.verify_audit(None, 100).await.unwrap();
    assert_eq!((found.checked, found.problems), (3, Vec::new()));
}
