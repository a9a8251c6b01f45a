//! Two handles on one store, as two nodes have them.

#![expect(missing_docs, reason = "the names are the claims")]

use std::sync::Arc;
use std::time::Duration;

use super::world::{MANY, World, at, settlement};
use crate::{ClaimAsk, Settled, Store};

use punctual_model::RecordStatus;

fn ask() -> ClaimAsk {
    ClaimAsk { until: at(9), limit: MANY, full_targets: Vec::new() }
}

pub async fn what_one_node_has_claimed_no_other_gets(one: Arc<dyn Store>, other: Arc<dyn Store>) {
    let world = World::new(Arc::clone(&one));
    let collection = world.collection("c").await;
    for name in ["a", "b"] {
        world.job(&collection, name, at(0)).await;
    }
    let claims = one.claim(&ClaimAsk { limit: 1, ..ask() }).await.unwrap();
    let others = other.claim(&ask()).await.unwrap();
    assert_eq!((claims.len(), others.len()), (1, 1));
    assert_ne!(claims[0].job.id, others[0].job.id);
    one.release(&[claims[0].fence]).await.unwrap();
    let found = async {
        while other.claim(&ask()).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(10), found).await;
    assert!(found.is_ok(), "what is given back is anybody's");
}

pub async fn what_is_held_is_what_this_node_holds(one: Arc<dyn Store>, other: Arc<dyn Store>) {
    let world = World::new(Arc::clone(&one));
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let claims = one.claim(&ask()).await.unwrap();
    let held = |held: Vec<crate::HeldClaim>| held.iter().map(|claim| claim.job).collect::<Vec<_>>();
    assert_eq!(held(one.held().await.unwrap()), [job.id]);
    assert_eq!(held(other.held().await.unwrap()), []);
    one.begin(&[claims[0].fence]).await.unwrap();
    assert_eq!(other.in_flight(&[job.id]).await.unwrap(), [job.id], "that it is in flight everybody sees");
}

pub async fn an_edit_on_one_node_holds_on_the_other(one: Arc<dyn Store>, other: Arc<dyn Store>) {
    let (world, elsewhere) = (World::new(Arc::clone(&one)), World::new(Arc::clone(&other)));
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let claims = one.claim(&ask()).await.unwrap();
    elsewhere.put_job(job, &collection).await.unwrap();
    assert_eq!(one.begin(&[claims[0].fence]).await.unwrap(), [false]);
}

pub async fn a_node_that_leaves_leaves_nothing_claimed(one: Arc<dyn Store>, other: Arc<dyn Store>) {
    let world = World::new(Arc::clone(&one));
    let collection = world.collection("c").await;
    world.job(&collection, "j", at(0)).await;
    let claim = one.claim(&ask()).await.unwrap().remove(0);
    let count = other.nodes().await.unwrap().len();
    one.leave().await.unwrap();
    assert_eq!(other.nodes().await.unwrap().len(), count - 1);
    assert_eq!(one.begin(&[claim.fence]).await.unwrap(), [false], "its lease has ended");
    assert_eq!(one.claim(&ask()).await.unwrap().len(), 0);
    let again = other.claim(&ask()).await.unwrap().remove(0);
    assert_eq!(other.begin(&[again.fence]).await.unwrap(), [true]);
    let late = one.settle(vec![settlement(&claim, RecordStatus::Completed, None)]).await.unwrap();
    assert!(matches!(late[..], [Settled::Lost]), "what it settles has no effect: {late:?}");
    let settled = other.settle(vec![settlement(&again, RecordStatus::Completed, None)]).await.unwrap();
    assert!(matches!(settled[..], [Settled::Recorded]), "{settled:?}");
}

pub async fn nodes_have_ranks_by_lease_and_each_knows_how_many_fire(
    one: Arc<dyn Store>,
    other: Arc<dyn Store>,
) {
    let (first, second) = (*one.standing().borrow(), *other.standing().borrow());
    assert!(first.lease < second.lease);
    assert_eq!((first.rank, second.rank, second.firing_count), (0, 1, 2));
    assert!(first.first() && !second.first() && first.may_fire && second.may_fire);
    let leases: Vec<u64> = one.nodes().await.unwrap().iter().map(|node| node.lease).collect();
    assert_eq!(leases, [first.lease, second.lease]);
}
