//! What was written is there after a restart, and what was claimed is free again.

use std::sync::Arc;
use std::time::Duration;

use punctual_model::RecordStatus;
use punctual_store::Settled;
use punctual_store::conformance::world::{MANY, World, a_skip, at, settlement};

use crate::world::open;

#[tokio::test]
async fn a_restart_changes_nothing_but_claims() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let other = world.job(&collection, "k", at(1)).await;
    let claim = world.begun(at(0)).await;
    let mut decided = settlement(&claim, RecordStatus::Failed, Some(at(30)));
    decided.skips = vec![a_skip(&job, 1, 2, 3)];
    assert!(matches!(world.settle(decided).await, Settled::Recorded));
    let in_flight = world.begun(at(1)).await;
    let before = (world.read(&job.key).await, world.history(job.id).await);
    drop(world);

    let world = World::new(Arc::new(open(dir.path())));
    assert_eq!((world.read(&job.key).await, world.history(job.id).await), before);
    assert_eq!(world.store.collection(&collection.key).await.unwrap(), Some(collection.clone()));
    assert_eq!(world.store.skips(job.id, at(0), at(9), MANY).await.unwrap().len(), 1);
    assert_eq!(
        world.store.begin(&[in_flight.fence]).await.unwrap(),
        [false],
        "fences don't outlive the process"
    );
    let claims = world.claim(at(30), MANY).await;
    assert_eq!(claims.iter().map(|claim| claim.job.id).collect::<Vec<_>>(), [other.id, job.id]);
}

#[tokio::test]
async fn ids_and_numbers_go_on_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let claim = world.begun(at(0)).await;
    world.run(&claim, RecordStatus::Completed, None).await;
    let sequence = world.history(job.id).await[0].sequence;
    world.store.delete_collection(&collection.key, None).await.unwrap();
    drop(world);

    let world = World::new(Arc::new(open(dir.path())));
    let anew = world.collection("c").await;
    assert!(anew.revision > collection.revision);
    let other = world.job(&anew, "j", at(0)).await;
    assert!(other.id > job.id);
    let claim = world.begun(at(0)).await;
    world.run(&claim, RecordStatus::Completed, None).await;
    assert!(world.history(other.id).await[0].sequence > sequence);
}

#[tokio::test]
async fn dropping_the_store_does_what_has_queued() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path()));
    let world = World::new(store.clone());
    let collection = world.collection("c").await;
    for number in 0..50 {
        // Long enough to queue it, not to wait for its answer.
        let name = format!("j{number}");
        let put = world.job(&collection, &name, at(0));
        let _ = tokio::time::timeout(Duration::ZERO, put).await;
    }
    drop((world, store));
    assert_eq!(World::new(Arc::new(open(dir.path()))).job_count(&collection.key).await, 50);
}
