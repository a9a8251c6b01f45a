//! Writes that are refused, and writes that come together.

#![expect(missing_docs, reason = "the names are the claims")]

use std::sync::Arc;

use punctual_model::{Collection, CollectionKey, CollectionState, Entry, Job, JobState, Sku};

use super::world::{MANY, World, a_collection, a_job, a_skip, at, http, refusal};
use crate::{CollectionWrite, JobWrite, Refusal, Store};

pub async fn a_stale_collection_is_refused(store: Arc<dyn Store>) {
    let world = World::new(store);
    let first = world.collection("c").await;
    assert_eq!(refusal(world.put_collection(a_collection("C")).await), Refusal::Stale);
    let mut edit = first.clone();
    edit.location = "East US".to_owned();
    let second = world.put_collection(edit.clone()).await.unwrap();
    edit.location = "North Europe".to_owned();
    assert_eq!(refusal(world.put_collection(edit).await), Refusal::Stale);
    let mut missing = a_collection("other");
    missing.revision = 1;
    assert_eq!(refusal(world.put_collection(missing).await), Refusal::Stale);
    assert_eq!(world.store.collection(&first.key).await.unwrap(), Some(second));
}

pub async fn a_stale_job_is_refused(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    assert_eq!(refusal(world.put_job(a_job(job.key.clone(), None), &collection).await), Refusal::Stale);
    let edited = world.put_job(job.clone(), &collection).await.unwrap();
    assert_eq!(refusal(world.put_job(job, &collection).await), Refusal::Stale);

    let mut missing = edited.clone();
    missing.key = collection.key.job("other");
    assert_eq!(refusal(world.put_job(missing, &collection).await), Refusal::Stale);

    let newer = world.put_collection(collection.clone()).await.unwrap();
    assert_eq!(refusal(world.put_job(edited.clone(), &collection).await), Refusal::Stale);
    assert_eq!(
        refusal(world.put_job(a_job(collection.key.job("k"), None), &collection).await),
        Refusal::Stale
    );
    assert_eq!(world.read(&edited.key).await, edited);
    world.put_job(edited, &newer).await.unwrap();
}

pub async fn a_job_made_anew_is_another_job(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let old = world.job(&collection, "j", at(0)).await;
    world.store.delete_job(&old.key, None).await.unwrap();
    assert_eq!(refusal(world.put_job(old.clone(), &collection).await), Refusal::Stale);
    let new = world.job(&collection, "j", at(0)).await;
    assert_eq!(refusal(world.put_job(old, &collection).await), Refusal::Stale);
    assert_eq!(world.read(&new.key).await, new);
}

pub async fn a_collection_made_anew_is_another_collection(store: Arc<dyn Store>) {
    let world = World::new(store);
    let old = world.collection("c").await;
    world.store.delete_collection(&old.key, None).await.unwrap();
    world.collection("c").await;
    assert_eq!(refusal(world.put_job(a_job(old.key.job("j"), None), &old).await), Refusal::Stale);
    assert_eq!(refusal(world.put_collection(old).await), Refusal::Stale);
}

pub async fn a_job_needs_its_collection(store: Arc<dyn Store>) {
    let world = World::new(store);
    let nowhere = a_collection("c");
    let job = a_job(nowhere.key.job("j"), None);
    assert_eq!(refusal(world.put_job(job, &nowhere).await), Refusal::NoCollection);
}

pub async fn a_full_collection_takes_edits_only(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let put = async |job, job_count_max| {
        let skips = Vec::new();
        let write = JobWrite {
            job,
            collection_revision: collection.revision,
            skips,
            job_count_max,
            rerun: None,
            note: None,
        };
        world.store.put_job(write).await
    };
    let job = put(a_job(collection.key.job("a"), None), 2).await.unwrap();
    put(a_job(collection.key.job("b"), None), 2).await.unwrap();
    let full = Refusal::TooManyJobs { max: 2 };
    assert_eq!(refusal(put(a_job(collection.key.job("c"), None), 2).await), full);
    put(job.clone(), 1).await.unwrap();
    assert_eq!(world.job_count(&collection.key).await, 2);
    world.store.delete_job(&job.key, None).await.unwrap();
    put(a_job(collection.key.job("c"), None), 2).await.unwrap();
    assert_eq!(refusal(put(a_job(collection.key.job("d"), None), 2).await), full);
}

pub async fn the_plan_limits_the_collections_of_a_subscription(store: Arc<dyn Store>) {
    let world = World::new(store);
    let put = async |collection, collection_count_max| {
        let write = CollectionWrite {
            collection,
            jobs: Vec::new(),
            skips: Vec::new(),
            job_count_seen: None,
            collection_count_max,
            note: None,
        };
        world.store.put_collection(write).await
    };
    let free = |subscription: &str, name: &str| {
        let mut collection = a_collection(name);
        collection.key = CollectionKey::new(subscription, "Group", name);
        collection.sku = Sku::Free;
        collection
    };
    let first = put(free("Sub", "a"), 1).await.unwrap();
    let full = Refusal::TooManyCollections { sku: Sku::Free, max: 1 };
    assert_eq!(refusal(put(free("SUB", "b"), 1).await), full);
    put(free("Sub2", "b"), 1).await.unwrap();
    put(first, 1).await.unwrap();
    let mut other = put(a_collection("c"), 1).await.unwrap();
    other.sku = Sku::Free;
    assert_eq!(refusal(put(other.clone(), 1).await), full);
    world.store.delete_collection(&free("sub", "A").key, None).await.unwrap();
    put(other, 1).await.unwrap();
    put(a_collection("d"), 1).await.unwrap();
}

pub async fn a_collection_is_written_with_its_jobs(store: Arc<dyn Store>) {
    let world = World::new(store);
    let mut collection = world.collection("c").await;
    let mut first = world.job(&collection, "a", at(0)).await;
    let mut second = world.job(&collection, "b", at(1)).await;
    let untouched = world.job(&collection, "c", at(2)).await;
    collection.state = CollectionState::Disabled;
    first.progress.entry = None;
    second.progress.entry = Some(Entry::scheduled(at(50)));
    second.state = JobState::Completed;
    let definition = second.spec.clone();
    Arc::make_mut(&mut second.spec).action = http("http://example.org/elsewhere");
    let skips = vec![a_skip(&first, 0, 1, 2)];
    let jobs = vec![first.clone(), second.clone()];
    let write = CollectionWrite {
        collection,
        jobs,
        skips: skips.clone(),
        job_count_seen: None,
        collection_count_max: 9,
        note: None,
    };
    let written = world.store.put_collection(write).await.unwrap();
    assert_eq!(written.state, CollectionState::Disabled);
    let read = world.read(&first.key).await;
    assert_eq!((read.progress.entry, read.revision > first.revision), (None, true));
    let read = world.read(&second.key).await;
    assert_eq!((read.state, read.spec), (JobState::Completed, definition), "definitions are not written");
    assert_eq!(world.read(&untouched.key).await, untouched);
    assert_eq!(world.store.next_due(&[]).await.unwrap(), Some(at(2)));
    assert_eq!(world.store.skips(first.id, at(0), at(9), MANY).await.unwrap(), skips);
}

pub async fn a_job_that_was_not_seen_stops_the_whole_collection(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut seen = world.job(&collection, "a", at(0)).await;
    let put = |collection: &punctual_model::Collection, jobs, job_count_seen| {
        let mut collection = collection.clone();
        collection.state = CollectionState::Disabled;
        let skips = Vec::new();
        let write =
            CollectionWrite { collection, jobs, skips, job_count_seen, collection_count_max: 9, note: None };
        world.store.put_collection(write)
    };
    let unseen = world.job(&collection, "b", at(1)).await;
    seen.progress.entry = None;
    assert_eq!(refusal(put(&collection, vec![seen.clone()], Some(1)).await), Refusal::Stale);
    assert!(world.read(&seen.key).await.progress.entry.is_some());
    put(&collection, vec![seen, unseen], Some(2)).await.unwrap();
}

pub async fn one_stale_job_stops_the_whole_collection(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut first = world.job(&collection, "a", at(0)).await;
    let stale = world.job(&collection, "b", at(1)).await;
    let stale_now = world.put_job(stale.clone(), &collection).await.unwrap();
    let mut edit = collection.clone();
    edit.state = CollectionState::Disabled;
    first.progress.entry = None;
    let jobs = vec![first.clone(), stale];
    let write = CollectionWrite {
        collection: edit,
        jobs,
        skips: Vec::new(),
        job_count_seen: None,
        collection_count_max: 9,
        note: None,
    };
    assert_eq!(refusal(world.store.put_collection(write).await), Refusal::Stale);
    assert_eq!(world.store.collection(&collection.key).await.unwrap(), Some(collection));
    assert_eq!(world.read(&first.key).await.progress.entry, Some(Entry::scheduled(at(0))));
    assert_eq!(world.read(&stale_now.key).await, stale_now);
}

pub async fn a_decision_inside_the_transaction_is_never_stale(store: Arc<dyn Store>) {
    let world = World::new(store);
    let before = world.collection("c").await;
    let second = world.job(&before, "b", at(1)).await;
    let first = world.job(&before, "a", at(0)).await;
    let collection = world.put_collection(before).await.unwrap();
    let first = world.put_job(first, &collection).await.unwrap();
    let (sent, seen) = std::sync::mpsc::channel();
    let skips = vec![a_skip(&first, 0, 1, 2)];
    let decide = {
        let skips = skips.clone();
        move |found: Option<&Collection>, jobs: &[Job]| {
            sent.send((found.cloned(), jobs.to_vec())).unwrap();
            Some(CollectionWrite { skips: skips.clone(), ..switched_off(found.unwrap(), jobs) })
        }
    };
    let any_case = CollectionKey::new("sub", "GROUP", "C");
    let written = world.store.edit_collection(&any_case, Box::new(decide)).await.unwrap();
    let last = seen.try_iter().last();
    assert_eq!(last, Some((Some(collection.clone()), vec![first.clone(), second.clone()])));
    assert_eq!((&written.key, written.state), (&collection.key, CollectionState::Disabled));
    assert!(written.revision > collection.revision);
    assert_eq!(world.store.collection(&collection.key).await.unwrap(), Some(written));
    for job in [&first, &second] {
        let read = world.read(&job.key).await;
        assert_eq!((read.progress.entry, read.revision > job.revision), (None, true));
    }
    assert_eq!(world.store.skips(first.id, at(0), at(9), MANY).await.unwrap(), skips);
    assert_eq!(world.store.next_due(&[]).await.unwrap(), None);
}

pub async fn a_declined_edit_writes_nothing(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let declined = world.store.edit_collection(&collection.key, Box::new(|_, _| None));
    assert_eq!(refusal(declined.await), Refusal::Declined);
    let nowhere = CollectionKey::new("Sub", "Group", "other");
    let (sent, seen) = std::sync::mpsc::channel();
    let decide = move |found: Option<&Collection>, jobs: &[Job]| {
        sent.send((found.cloned(), jobs.to_vec())).unwrap();
        None
    };
    let declined = world.store.edit_collection(&nowhere, Box::new(decide));
    assert_eq!(refusal(declined.await), Refusal::Declined);
    assert_eq!(seen.try_iter().last(), Some((None, Vec::new())));
    let stale = move |found: Option<&Collection>, _: &[Job]| {
        Some(switched_off(&Collection { revision: 0, ..found?.clone() }, &[]))
    };
    assert_eq!(
        refusal(world.store.edit_collection(&collection.key, Box::new(stale)).await),
        Refusal::Stale,
        "only what was read is written"
    );
    assert_eq!(world.store.collection(&collection.key).await.unwrap(), Some(collection));
    assert_eq!(world.read(&job.key).await, job);
}

/// A write that switches a collection off and takes the entries of its jobs away.
pub(super) fn switched_off(collection: &Collection, jobs: &[Job]) -> CollectionWrite {
    let mut jobs = jobs.to_vec();
    jobs.iter_mut().for_each(|job| job.progress.entry = None);
    CollectionWrite {
        collection: Collection { state: CollectionState::Disabled, ..collection.clone() },
        job_count_seen: u32::try_from(jobs.len()).ok(),
        jobs,
        skips: Vec::new(),
        collection_count_max: 9,
        note: None,
    }
}

pub async fn skips_of_an_edit_are_kept(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let skips = vec![a_skip(&job, 0, 60, 61)];
    let write = JobWrite {
        job: job.clone(),
        collection_revision: collection.revision,
        skips: skips.clone(),
        job_count_max: 9,
        rerun: None,
        note: None,
    };
    world.store.put_job(write.clone()).await.unwrap();
    assert_eq!(refusal(world.store.put_job(write).await), Refusal::Stale);
    assert_eq!(world.store.skips(job.id, at(0), at(99), MANY).await.unwrap(), skips);
}
