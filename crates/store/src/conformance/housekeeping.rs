//! Deleting what is too old, in bounded pieces.

#![expect(missing_docs, reason = "the names are the claims")]

use std::sync::Arc;

use punctual_model::{Entry, JobState, RecordStatus};

use super::world::{MANY, World, a_job, a_record, a_skip, at};
use crate::Store;

pub async fn prune_goes_in_bounded_steps(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let records = (0..10).map(|second| a_record(&job, at(second), RecordStatus::Completed)).collect();
    let skips = vec![a_skip(&job, 0, 1, 5), a_skip(&job, 2, 3, 6)];
    world.record(&job.key, records, skips).await;
    // Each record ends a second after it starts; those of 0 to 4 ended before 6.
    assert_eq!(world.store.prune(at(6), 3).await.unwrap(), 4, "three records and one skip");
    assert_eq!(world.history(job.id).await.len(), 7);
    assert_eq!(world.store.prune(at(6), 3).await.unwrap(), 2);
    assert_eq!(world.store.prune(at(6), 3).await.unwrap(), 0);
    let left = world.history(job.id).await;
    assert_eq!(left.last().map(|stored| stored.record.started_at), Some(at(5)));
    assert_eq!(world.store.skips(job.id, at(0), at(9), MANY).await.unwrap().len(), 1);
    // What went can't come back under the same name of an attempt, but new attempts can.
    world.record(&job.key, vec![a_record(&job, at(50), RecordStatus::Failed)], Vec::new()).await;
    assert_eq!(world.history(job.id).await.len(), 6);
}

pub async fn prune_to_keeps_the_newest(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut jobs = Vec::new();
    for (name, count) in [("a", 3), ("b", 8), ("c", 0), ("d", 5)] {
        let job = world.put_job(a_job(collection.key.job(name), None), &collection).await.unwrap();
        let records = (0..count).map(|second| a_record(&job, at(second), RecordStatus::Completed)).collect();
        world.record(&job.key, records, Vec::new()).await;
        jobs.push(job);
    }
    let mut gone = 0;
    for _ in 0..10 {
        let count = world.store.prune_to(3, 2).await.unwrap();
        assert!(count <= 2);
        gone += count;
    }
    assert_eq!(gone, 7);
    for (job, left) in jobs.iter().zip([3, 3, 0, 3]) {
        let history = world.history(job.id).await;
        assert_eq!(history.len(), left, "{}", job.key.name);
    }
    assert_eq!(world.history(jobs[1].id).await[2].record.started_at, at(5), "the oldest went");
    assert_eq!(world.store.prune_to(3, MANY).await.unwrap(), 0);
    assert_eq!(world.store.prune_to(1, MANY).await.unwrap(), 6);
    world.record(&jobs[0].key, vec![a_record(&jobs[0], at(77), RecordStatus::Failed)], Vec::new()).await;
    assert_eq!(world.store.prune_to(1, MANY).await.unwrap(), 1);
}

pub async fn what_was_pruned_is_known(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut jobs = Vec::new();
    for name in ["a", "b"] {
        let job = world.put_job(a_job(collection.key.job(name), None), &collection).await.unwrap();
        jobs.push(job);
    }
    let before = async |index: usize| world.store.pruned_before(jobs[index].id).await.unwrap();
    let records = |index: usize, seconds: std::ops::Range<i64>| {
        seconds.map(|second| a_record(&jobs[index], at(second), RecordStatus::Completed)).collect()
    };
    world.record(&jobs[0].key, records(0, 20..25), Vec::new()).await;
    world.record(&jobs[1].key, records(1, 10..12), Vec::new()).await;
    assert_eq!((before(0).await, before(1).await), (None, None), "nothing went");
    world.store.prune_to(3, MANY).await.unwrap();
    assert_eq!((before(0).await, before(1).await), (Some(at(22)), None), "the oldest two of one job");
    world.store.prune(at(12), MANY).await.unwrap();
    assert_eq!(before(0).await, Some(at(22)), "more went of this one");
    assert_eq!(before(1).await, Some(at(12)));
}

pub async fn purge_deletes_what_has_ended(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    for (name, ended) in [("a", Some(1)), ("b", Some(2)), ("c", Some(3)), ("d", Some(9)), ("e", None)] {
        let mut job = a_job(collection.key.job(name), None);
        if let Some(ended) = ended {
            job.state = JobState::Completed;
            job.progress.ended_at = Some(at(ended));
        }
        world.put_job(job, &collection).await.unwrap();
    }
    let first = world.read(&collection.key.job("a")).await;
    assert_eq!(world.store.purge(at(9), 2).await.unwrap(), 2);
    assert_eq!(world.find(&first.key).await, None);
    assert_eq!(world.store.purge(at(9), 2).await.unwrap(), 1);
    assert_eq!(world.store.purge(at(9), 2).await.unwrap(), 0);
    assert_eq!(world.job_count(&collection.key).await, 2);
    assert_eq!(world.history(first.id).await, []);
}

pub async fn purge_leaves_what_has_an_entry(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut job = a_job(collection.key.job("j"), None);
    job.state = JobState::Faulted;
    job.progress.ended_at = Some(at(0));
    job.progress.entry = Some(Entry::run(at(100)));
    let job = world.put_job(job, &collection).await.unwrap();
    assert_eq!(world.store.purge(at(50), MANY).await.unwrap(), 0);
    let claim = world.begun(at(100)).await;
    assert_eq!(world.store.purge(at(500), MANY).await.unwrap(), 0, "a run is in flight");
    world.run(&claim, RecordStatus::Completed, None).await;
    assert_eq!(world.store.purge(at(500), MANY).await.unwrap(), 1);
    assert_eq!(world.history(job.id).await, []);
}
