//! Who holds a job, and who takes it away.

#![expect(missing_docs, reason = "the names are the claims")]

use std::sync::Arc;
use std::time::Duration;

use punctual_model::{CollectionState, Entry, RecordStatus};

use super::world::{MANY, World, at, names, settlement};
use crate::{ClaimAsk, CollectionWrite, Fence, Settled, Store};

pub async fn a_claimed_job_is_not_claimed_again(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    world.job(&collection, "j", at(0)).await;
    let claim = world.claim(at(0), MANY).await.pop().unwrap();
    assert_eq!(world.claim(at(99), MANY).await.len(), 0);
    assert_eq!(world.store.begin(&[claim.fence, claim.fence]).await.unwrap(), [true, true]);
    assert_eq!(world.claim(at(99), MANY).await.len(), 0);
    world.run(&claim, RecordStatus::Failed, Some(at(30))).await;
    assert_eq!(world.claim(at(29), MANY).await.len(), 0);
    let next = world.claim(at(30), MANY).await.pop().unwrap();
    assert_ne!(next.fence, claim.fence);
}

pub async fn an_edit_takes_back_a_claim_not_begun(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    world.job(&collection, "j", at(0)).await;
    let claim = world.claim(at(0), 1).await.pop().unwrap();
    let mut job = claim.job.clone();
    job.progress.entry = Some(Entry::scheduled(at(5)));
    let job = world.put_job(job, &collection).await.unwrap();
    assert_eq!(world.store.begin(&[claim.fence]).await.unwrap(), [false]);
    assert!(matches!(world.settle(settlement(&claim, RecordStatus::Completed, None)).await, Settled::Lost));
    assert_eq!(world.read(&job.key).await, job);
    assert_eq!(world.history(job.id).await, []);
    assert_eq!(world.claim(at(4), 1).await.len(), 0);
    assert_eq!(world.claim(at(5), 1).await[0].job, job);
}

pub async fn an_edit_leaves_what_is_in_flight(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    world.job(&collection, "j", at(0)).await;
    let claim = world.begun(at(0)).await;
    let mut job = claim.job.clone();
    job.progress.entry = Some(Entry::scheduled(at(1)));
    let job = world.put_job(job, &collection).await.unwrap();
    assert_eq!(world.store.in_flight(&[job.id]).await.unwrap(), [job.id]);
    assert_eq!(world.claim(at(9), MANY).await.len(), 0, "the new entry waits for the old one");
    assert_eq!(world.store.next_due(&[]).await.unwrap(), None);

    let settled = world.settle(settlement(&claim, RecordStatus::Completed, None)).await;
    let Settled::Changed(now, sku) = settled else { panic!("{settled:?}") };
    assert_eq!((&*now, sku), (&job, collection.sku));
    assert_eq!(world.claim(at(9), MANY).await.len(), 0, "the claim goes on");
    let mut decided = settlement(&claim, RecordStatus::Completed, None);
    decided.job = *now;
    assert!(matches!(world.settle(decided).await, Settled::Recorded));
    assert_eq!(world.history(job.id).await.len(), 1);
    assert_eq!(world.claim(at(9), MANY).await[0].job.progress.entry, Some(Entry::scheduled(at(1))));
}

pub async fn a_collection_edit_takes_back_claims_of_its_jobs(store: Arc<dyn Store>) {
    let world = World::new(store);
    let mut collection = world.collection("c").await;
    world.job(&collection, "held", at(0)).await;
    world.job(&collection, "begun", at(1)).await;
    world.job(&collection, "kept", at(2)).await;
    let claims = world.claim(at(9), MANY).await;
    let [held, begun, kept] = &claims[..] else { panic!("three are due") };
    world.store.begin(&[begun.fence]).await.unwrap();
    collection.state = CollectionState::Disabled;
    let mut jobs = vec![held.job.clone(), begun.job.clone()];
    jobs.iter_mut().for_each(|job| job.progress.entry = None);
    let write = CollectionWrite {
        collection,
        jobs,
        skips: Vec::new(),
        job_count_seen: None,
        collection_count_max: 9,
        note: None,
    };
    world.store.put_collection(write).await.unwrap();
    assert_eq!(world.store.begin(&[held.fence, kept.fence]).await.unwrap(), [false, true]);
    let jobs = [held.job.id, begun.job.id];
    assert_eq!(
        world.store.in_flight(&jobs).await.unwrap(),
        [begun.job.id],
        "what is in flight stays claimed"
    );
}

pub async fn a_delete_takes_back_a_claim_not_begun(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let claim = world.claim(at(0), 1).await.pop().unwrap();
    world.store.delete_job(&job.key, None).await.unwrap();
    assert_eq!(world.store.begin(&[claim.fence]).await.unwrap(), [false]);
    world.job(&collection, "k", at(0)).await;
    let claim = world.claim(at(0), 1).await.pop().unwrap();
    world.store.delete_collection(&collection.key, None).await.unwrap();
    assert_eq!(world.store.begin(&[claim.fence]).await.unwrap(), [false]);
}

pub async fn a_released_claim_can_be_claimed_again(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    for (name, due) in [("a", 1), ("b", 2), ("c", 3)] {
        world.job(&collection, name, at(due)).await;
    }
    let claims = world.claim(at(9), MANY).await;
    world.store.begin(&[claims[1].fence]).await.unwrap();
    world.store.release(&[claims[1].fence, claims[0].fence, Fence(u64::MAX)]).await.unwrap();
    assert_eq!(world.store.in_flight(&[claims[1].job.id]).await.unwrap(), []);
    assert_eq!(world.store.begin(&[claims[0].fence]).await.unwrap(), [false]);
    let lost = world.settle(settlement(&claims[1], RecordStatus::Completed, None)).await;
    assert!(matches!(lost, Settled::Lost));
    assert_eq!(world.store.next_due(&[]).await.unwrap(), Some(at(1)));
    let again = world.claim(at(9), MANY).await;
    assert_eq!(names(&again), ["a", "b"]);
    assert_eq!(again[0].job, claims[0].job);
}

pub async fn in_flight_are_the_begun(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let a = world.job(&collection, "a", at(0)).await;
    let b = world.job(&collection, "b", at(0)).await;
    let claims = world.claim(at(0), MANY).await;
    assert_eq!(world.store.in_flight(&[a.id, b.id]).await.unwrap(), []);
    world.store.begin(&[claims[1].fence]).await.unwrap();
    assert_eq!(world.store.in_flight(&[a.id, b.id]).await.unwrap(), [b.id]);
    world.run(&claims[1], RecordStatus::Completed, None).await;
    assert_eq!(world.store.in_flight(&[a.id, b.id]).await.unwrap(), []);
}

pub async fn an_unknown_fence_holds_nothing(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let mut claim = world.claim(at(0), 1).await.pop().unwrap();
    let fence = claim.fence;
    claim.fence = Fence(fence.0.wrapping_add(1_000_000));
    assert_eq!(world.store.begin(&[claim.fence]).await.unwrap(), [false]);
    assert!(matches!(world.settle(settlement(&claim, RecordStatus::Failed, None)).await, Settled::Lost));
    assert_eq!(world.read(&job.key).await, job);
    assert_eq!(world.store.begin(&[fence]).await.unwrap(), [true]);
}

pub async fn a_claim_that_nobody_waits_for_is_given_back(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    for number in 0..20 {
        world.job(&collection, &format!("j{number}"), at(number)).await;
    }
    let ask = ClaimAsk { until: at(99), limit: 3, full_targets: Vec::new() };
    for _ in 0..20 {
        if let Ok(claims) = tokio::time::timeout(Duration::ZERO, world.store.claim(&ask)).await {
            let fences: Vec<_> = claims.unwrap().iter().map(|claim| claim.fence).collect();
            world.store.release(&fences).await.unwrap();
        }
    }
    let mut claimed = 0;
    let all = async {
        while claimed < 20 {
            claimed += world.claim(at(99), MANY).await.len();
            tokio::task::yield_now().await;
        }
    };
    assert!(
        tokio::time::timeout(Duration::from_secs(10), all).await.is_ok(),
        "only {claimed} were free again"
    );
}
