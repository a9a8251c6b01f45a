//! What is due, in which order, and when somebody has to look again.

#![expect(missing_docs, reason = "the names are the claims")]

use std::sync::Arc;
use std::time::Duration;

use punctual_model::{Collection, CollectionKey, Entry, Quota, RecordStatus, Scope, Sku};

use super::world::{MANY, World, a_collection, at, names};
use crate::{DueCountAsk, Store};

pub async fn claims_come_earliest_first(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    for (name, due) in [("d", 4), ("a", 1), ("c", 3), ("b", 2), ("past", -1_000_000_000), ("b2", 2)] {
        world.job(&collection, name, at(due)).await;
    }
    assert_eq!(names(&world.claim(at(10), 2).await), ["past", "a"]);
    assert_eq!(names(&world.claim(at(10), 3).await), ["b", "b2", "c"]);
    assert_eq!(names(&world.claim(at(10), MANY).await), ["d"]);
    assert_eq!(world.claim(at(10), 0).await.len(), 0);
}

pub async fn nothing_is_claimed_before_its_time(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let tick = jiff::SignedDuration::from_nanos(100);
    world.job(&collection, "j", at(60) + tick).await;
    assert_eq!(world.claim(at(60), MANY).await.len(), 0);
    assert_eq!(world.store.next_due(&[]).await.unwrap(), Some(at(60) + tick));
    assert_eq!(world.claim(at(60) + tick, MANY).await.len(), 1);
}

pub async fn a_claim_has_what_firing_needs(store: Arc<dyn Store>) {
    let world = World::new(store);
    let mut collection = a_collection("c");
    collection.location = "Japan East".to_owned();
    collection.sku = Sku::P10Premium;
    let collection = world.put_collection(collection).await.unwrap();
    let job = world.job_to(&collection, "j", at(0), "Host:81").await;
    let claim = world.claim(at(0), 1).await.pop().unwrap();
    assert_eq!(claim.job, job);
    assert_eq!((&*claim.region, claim.sku, &*claim.target), ("Japan East", Sku::P10Premium, "host:81"));
}

pub async fn full_targets_starve_nobody(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    for number in 0..10 {
        world.job_to(&collection, &format!("slow{number}"), at(number), "slow").await;
    }
    world.job_to(&collection, "fast", at(20), "fast").await;
    world.job_to(&collection, "other", at(30), "other").await;
    assert_eq!(names(&world.claim_but(at(99), 1, &["slow"]).await), ["fast"]);
    assert_eq!(world.store.next_due(&["slow".to_owned()]).await.unwrap(), Some(at(30)));
    assert_eq!(world.store.next_due(&["slow".to_owned(), "other".to_owned()]).await.unwrap(), None);
    assert_eq!(world.store.next_due(&[]).await.unwrap(), Some(at(0)));
    assert_eq!(names(&world.claim_but(at(99), MANY, &["slow", "other"]).await), [] as [&str; 0]);
    assert_eq!(names(&world.claim(at(99), 2).await), ["slow0", "slow1"]);
}

pub async fn entries_of_full_targets_stay(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let slow = world.job_to(&collection, "slow", at(5), "slow").await;
    world.job_to(&collection, "slow2", at(6), "slow").await;
    assert_eq!(world.claim_but(at(9), MANY, &["slow"]).await.len(), 0);
    // While their target is full, one moves to another host, a new one comes before them, one goes.
    let mut moved = slow.clone();
    std::sync::Arc::make_mut(&mut moved.spec).action = super::world::http("http://fast/");
    let moved = world.put_job(moved, &collection).await.unwrap();
    world.job_to(&collection, "early", at(4), "slow").await;
    assert_eq!(names(&world.claim_but(at(9), MANY, &["slow"]).await), ["slow"]);
    world.store.delete_job(&collection.key.job("slow2"), None).await.unwrap();
    world.job_to(&collection, "late", at(8), "slow").await;
    assert_eq!(world.read(&moved.key).await, moved);
    assert_eq!(names(&world.claim(at(9), MANY).await), ["early", "late"]);
}

pub async fn many_entries_of_full_targets_are_passed_quickly(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    for number in 0..500 {
        world.job_to(&collection, &format!("slow{number}"), at(0), "slow").await;
    }
    for number in 0..20 {
        world.job_to(&collection, &format!("fast{number}"), at(1), &format!("fast{number}")).await;
    }
    let mut count = 0;
    loop {
        let claims = world.claim_but(at(9), 3, &["slow"]).await;
        if claims.is_empty() {
            break;
        }
        for claim in &claims {
            world.run(claim, RecordStatus::Completed, None).await;
        }
        count += claims.len();
    }
    assert_eq!(count, 20);
    assert_eq!(world.claim(at(9), MANY).await.len(), 500);
}

pub async fn next_due_is_the_earliest_free_entry(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    assert_eq!(world.store.next_due(&[]).await.unwrap(), None);
    world.job(&collection, "a", at(1)).await;
    world.job(&collection, "b", at(2)).await;
    assert_eq!(world.store.next_due(&[]).await.unwrap(), Some(at(1)));
    let claim = world.claim(at(1), 1).await.pop().unwrap();
    assert_eq!(world.store.next_due(&[]).await.unwrap(), Some(at(2)));
    world.run(&claim, RecordStatus::Completed, Some(at(0))).await;
    assert_eq!(world.store.next_due(&[]).await.unwrap(), Some(at(0)));
    let claims = world.claim(at(9), MANY).await;
    assert_eq!(names(&claims), ["a", "b"]);
    assert_eq!(world.store.next_due(&[]).await.unwrap(), None);
}

pub async fn changes_follow_writes(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut changes = world.store.changes();
    let mut expect_change = async |what: &str| {
        let changed = tokio::time::timeout(Duration::from_secs(10), changes.changed()).await;
        assert!(matches!(changed, Ok(Ok(()))), "{what}");
        changes.mark_unchanged();
    };
    let job = world.job(&collection, "j", at(0)).await;
    expect_change("a new job").await;
    let mut job = world.put_job(job, &collection).await.unwrap();
    expect_change("an edit").await;
    let claim = world.claim(at(0), 1).await.pop().unwrap();
    world.store.release(&[claim.fence]).await.unwrap();
    expect_change("a release").await;
    let claim = world.claim(at(0), 1).await.pop().unwrap();
    world.run(&claim, RecordStatus::Completed, Some(at(1))).await;
    expect_change("a settlement").await;
    job = world.read(&job.key).await;
    job.progress.entry = Some(Entry::scheduled(at(7)));
    let write = crate::CollectionWrite {
        collection,
        jobs: vec![job],
        skips: Vec::new(),
        job_count_seen: None,
        collection_count_max: 9,
        note: None,
    };
    world.store.put_collection(write).await.unwrap();
    expect_change("a collection with jobs").await;
}

pub async fn what_moves_no_entry_wakes_nobody(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    world.job(&collection, "j", at(0)).await;
    let claim = world.claim(at(0), 1).await.pop().unwrap();
    let mut changes = world.store.changes();
    changes.mark_unchanged();
    world.run(&claim, RecordStatus::Completed, None).await;
    assert!(!changes.has_changed().unwrap(), "the job is done");
    world.store.release(&[claim.fence]).await.unwrap();
    assert!(!changes.has_changed().unwrap(), "the claim had ended");
    let sized = Collection { quota: Some(Quota::default()), ..collection };
    world.put_collection(sized).await.unwrap();
    assert!(!changes.has_changed().unwrap(), "no job of the collection was changed");
}

pub async fn a_moved_entry_is_found_at_its_new_time_only(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut job = world.job(&collection, "j", at(10)).await;
    world.job(&collection, "wall", at(20)).await;
    for due in [30, 5, 15, 25] {
        job.progress.entry = Some(Entry::scheduled(at(due)));
        job = world.put_job(job, &collection).await.unwrap();
        assert_eq!(world.store.next_due(&[]).await.unwrap(), Some(at(due.min(20))));
        assert_eq!(world.claim_but(at(due - 1), MANY, &["example.com"]).await.len(), 0);
    }
    job.progress.entry = None;
    job = world.put_job(job, &collection).await.unwrap();
    assert_eq!(names(&world.claim(at(99), MANY).await), ["wall"]);
    job.progress.entry = Some(Entry::scheduled(at(1)));
    world.put_job(job, &collection).await.unwrap();
    assert_eq!(names(&world.claim(at(99), MANY).await), ["j"]);
}

pub async fn what_is_due_is_counted_by_time_and_scope(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let elsewhere = Collection { key: CollectionKey::new("Sub", "Other", "c"), ..a_collection("c") };
    let elsewhere = world.put_collection(elsewhere).await.unwrap();
    for (name, due) in [("early", 59), ("one", 60), ("two", 119), ("late", 120)] {
        world.job(&collection, name, at(due)).await;
    }
    world.job(&elsewhere, "three", at(60)).await;
    let count = async |scope: Scope, limit: usize| {
        world.store.due_count(&DueCountAsk { scope, from: at(60), until: at(120), limit }).await.unwrap()
    };
    assert_eq!(count(Scope::Everything, MANY).await, 3);
    assert_eq!(count(Scope::Everything, 2).await, 2);
    assert_eq!(count(Scope::Subscription("SUB".into()), MANY).await, 3);
    assert_eq!(count(Scope::Subscription("none".into()), MANY).await, 0);
    assert_eq!(count(Scope::Group(elsewhere.key.group.clone()), MANY).await, 1);
    assert_eq!(count(Scope::Collection(collection.key.clone()), MANY).await, 2);
}
