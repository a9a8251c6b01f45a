//! The history of deleted jobs is swept away in the background, and pruning can go on meanwhile.

use std::sync::Arc;

use punctual_model::{Record, RecordStatus};
use punctual_store::conformance::world::{MANY, World, a_record, a_skip, at};

use crate::world::open;

#[tokio::test]
async fn what_is_left_of_a_deleted_job_is_swept_away() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let records: Vec<Record> =
        (0..1_000).map(|attempt| Record { attempt, ..a_record(&job, at(0), RecordStatus::Failed) }).collect();
    world.record(&job.key, records, vec![a_skip(&job, 0, 1, 2)]).await;
    world.store.delete_job(&job.key).await.unwrap();
    assert_eq!(world.history(job.id).await, []);
    // The sweep goes on whenever nothing else is to do; each question lets a piece of it pass. What is
    // swept away can't be pruned any more.
    drop(world);
    let world = World::new(Arc::new(open(dir.path())));
    let mut pruned = 0;
    for _ in 0..100 {
        pruned += world.store.prune(at(1_000_000), 1).await.unwrap();
        tokio::task::yield_now().await;
    }
    assert!(pruned <= 200);
    let rest = world.store.prune(at(1_000_000), MANY).await.unwrap();
    assert_eq!(world.store.prune(at(1_000_000), MANY).await.unwrap(), 0, "{rest} went at once");
}
