//! Nodes that share a store, each with a lease.

use std::sync::Arc;
use std::time::Duration;

use punctual_store::{Agenda, Cluster, LeasedStore, Roster, Survey};

use crate::world::{World, at, once, tally};

/// A world whose store is shared, and a node of it.
async fn shared() -> (World, Arc<Cluster>, Arc<LeasedStore>) {
    let cluster = Arc::new(Cluster::default());
    let world = World::on(cluster.shared_store()).await;
    let node = Arc::new(cluster.join());
    (world, cluster, node)
}

#[tokio::test]
async fn a_node_that_has_lost_its_lease_fires_nothing_of_what_it_held() {
    let (world, _cluster, node) = shared().await;
    world.put("ok", once("ok", 1)).await;
    let mut steps = world.runner_on(node.clone()).steps();
    assert_eq!(steps.tick().await.claimed_count, 1);
    node.expire().await.unwrap();
    world.clock.set(at(1));
    // It does not know it yet: the store does.
    steps.run().await;
    assert_eq!(world.target.seen(), []);
    node.renew();
    steps.tick().await;
    assert_eq!(world.target.names(), ["ok"], "under its new lease");
}

#[tokio::test]
async fn what_took_too_long_to_be_sent_is_asked_about_again() {
    let (world, cluster, node) = shared().await;
    let other = cluster.join();
    world.put("slow", once("slow", 0)).await;
    world.target.before_sending({
        let node = Arc::clone(&node);
        move || {
            // Connecting took a second, and the lease ended meanwhile.
            node.tell_boot(Duration::from_secs(1));
            futures_util::FutureExt::now_or_never(node.expire()).unwrap().unwrap();
        }
    });
    let mut steps = world.runner_on(node.clone()).steps();
    steps.tick().await;
    assert_eq!(world.target.seen(), [], "nothing is sent");
    assert_eq!(world.history("slow").await, [], "nor recorded");
    assert!(other.next_due(&[]).await.unwrap().is_some(), "others can have it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_cuts_off_what_is_under_way_when_it_learns_that_its_lease_is_gone() {
    let (world, cluster, node) = shared().await;
    world.put("hang", once("hang", 0)).await;
    let running = world.runner_on(node.clone()).start().unwrap();
    world.target.wait_for(1).await;
    node.expire().await.unwrap();
    let other = Arc::new(cluster.join());
    let elsewhere = world.runner_on(other.clone()).start().unwrap();
    world.target.wait_for(2).await;
    node.renew();
    world.wait_until("it is cut off", async || world.target.hanging() == 1).await;
    world.target.let_go(1);
    world.wait_for_records("hang", 1).await;
    running.stop().await;
    elsewhere.stop().await;
    assert_eq!(world.history("hang").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_fire_each_job_once_and_leave_when_they_stop() {
    let (world, cluster, one) = shared().await;
    let two = Arc::new(cluster.join());
    one.renew();
    for index in 0..60 {
        let name = format!("host{}-{index}", index % 3);
        world.put(&name, once(&name, 0)).await;
    }
    let running = [one.clone(), two.clone()].map(|node| world.runner_on(node).start().unwrap());
    world.target.wait_for(60).await;
    for runner in running {
        runner.stop().await;
    }
    assert!(tally(world.target.names()).values().all(|&count| count == 1), "each of them once");
    assert_eq!(one.nodes().await.unwrap(), []);
    assert_eq!(world.store.held().await.unwrap(), []);
}
