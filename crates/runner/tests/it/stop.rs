//! Stopping gives back what is held and records what has finished.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use punctual_model::JobState;
use punctual_store::{Agenda, ClaimAsk};

use crate::world::{World, at, once};

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_gives_back_what_is_held() {
    let world = World::new().await;
    world.put("ok", once("ok", 60)).await;
    world.clock.set(at(60) - SignedDuration::from_millis(500));
    let running = world.runner().start().unwrap();
    world.wait_until_claimed().await;
    running.stop().await;
    assert_eq!(world.store.next_due(&[]).await.unwrap(), Some(at(60)));
    let ask = ClaimAsk { until: at(60), limit: 10, full_targets: Vec::new() };
    assert_eq!(world.store.claim(&ask).await.unwrap().len(), 1);
    assert_eq!(world.target.names(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_was_stopped_has_let_go_of_the_store() {
    let world = World::new().await;
    let before = Arc::strong_count(&world.store);
    for _ in 0..20 {
        world.runner().start().unwrap().stop().await;
        assert_eq!(Arc::strong_count(&world.store), before, "whoever stops can close the store then");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_gives_back_what_waits_for_a_busy_target_and_lets_what_is_under_way_finish() {
    let mut world = World::new().await;
    world.settings.slots_per_target = 2;
    for index in 0..6 {
        let name = format!("hang-{index}");
        world.put(&name, once(&name, 0)).await;
    }
    let running = world.runner().start().unwrap();
    world.target.wait_for(2).await;
    world.wait_until_claimed().await;
    let stopping = tokio::spawn(running.stop());
    world
        .wait_until("what waits is given back", async || world.store.next_due(&[]).await.unwrap().is_some())
        .await;
    world.target.let_go(6);
    stopping.await.unwrap();
    let fired = world.target.names();
    let mut ended = 0;
    for index in 0..6 {
        let name = format!("hang-{index}");
        let records = world.history(&name).await.len();
        assert_eq!(records, usize::from(fired.contains(&name)), "what was fired is recorded, {name}");
        ended += usize::from(world.job(&name).await.state == JobState::Completed);
    }
    assert!((2..6).contains(&ended), "{ended} have ended, fired were {fired:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_not_finished_within_the_grace_is_left_unrecorded() {
    let mut world = World::new().await;
    world.settings.grace = Duration::from_millis(50);
    world.put("hang", once("hang", 0)).await;
    world.put("ok", once("ok", 0)).await;
    let running = world.runner().start().unwrap();
    world.target.wait_for(2).await;
    world.wait_for_records("ok", 1).await;
    running.stop().await;
    assert_eq!(world.history("hang").await, []);
    assert_eq!(world.job("hang").await.state, JobState::Enabled);
}
