//! Clocks that jump: nothing is early, nothing is twice, nothing stalls.

use jiff::SignedDuration;
use punctual_model::SkipReason;
use punctual_store::Survey;

use crate::world::{World, at, minutely, once};

#[tokio::test]
async fn a_clock_that_jumps_forward_fires_the_newest_and_misses_the_others() {
    let world = World::new().await;
    let mut steps = world.runner().steps();
    world.put("ok", minutely("ok", 0)).await;
    steps.tick().await;
    world.clock.set(at(3_630));
    steps.tick().await;
    let nominal: Vec<_> = world.target.seen().iter().map(|seen| seen.nominal_at).collect();
    assert_eq!(nominal, [at(0), at(3_600)]);
    let skips = world.skips("ok").await;
    let rows: Vec<_> =
        skips.iter().map(|skip| (skip.first_at, skip.last_at, skip.count, skip.reason)).collect();
    assert_eq!(rows, [(at(60), at(3_540), 59, SkipReason::Missed)]);
}

#[tokio::test]
async fn a_clock_that_jumps_back_repeats_nothing() {
    let world = World::new().await;
    let mut steps = world.runner().steps();
    world.put("ok", minutely("ok", 0)).await;
    for now in [0, 60, -3_600, 0, 60, 119, 120] {
        world.clock.set(at(now));
        steps.tick().await;
    }
    let nominal: Vec<_> = world.target.seen().iter().map(|seen| seen.nominal_at).collect();
    assert_eq!(nominal, [at(0), at(60), at(120)]);
}

#[tokio::test]
async fn an_attempt_during_which_the_clock_was_set_back_does_not_end_before_it_began() {
    let world = World::new().await;
    world.clock.set(at(100));
    world.put("hang", once("hang", 0)).await;
    let running = world.runner().start().unwrap();
    world.target.wait_for(1).await;
    world.clock.set(at(50));
    world.target.let_go(1);
    world.wait_for_records("hang", 1).await;
    running.stop().await;
    let record = world.history("hang").await.remove(0);
    assert_eq!((record.started_at, record.ended_at), (at(100), at(100)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_for_its_time_goes_by_the_clock_whichever_way_it_jumps() {
    let world = World::new().await;
    world.put("ok-1", once("ok-1", 60)).await;
    let running = world.runner().start().unwrap();
    world.clock.set(at(60) - SignedDuration::from_millis(500));
    world.wait_until_claimed().await;
    // Back, far behind the look-ahead: it is held, and not fired.
    world.clock.set(at(-7_200));
    world.put("ok-2", once("ok-2", -7_200)).await;
    world.target.wait_for(1).await;
    assert_eq!(world.target.names(), ["ok-2"]);
    // Forward: it goes though nobody claims anew.
    world.clock.set(at(86_400));
    world.target.wait_for(2).await;
    running.stop().await;
    let seen = world.target.seen();
    assert_eq!((seen[1].job.as_str(), seen[1].nominal_at, seen[1].fired_at), ("ok-1", at(60), at(86_400)));
    assert_eq!(world.history("ok-1").await.len(), 1);
}

#[tokio::test]
async fn what_was_claimed_ahead_of_a_clock_that_was_set_back_is_given_back() {
    let world = World::new().await;
    world.put("ok", once("ok", 60)).await;
    let mut steps = world.runner().steps();
    world.clock.set(at(60) - SignedDuration::from_millis(500));
    assert_eq!(steps.tick().await.claimed_count, 1);
    world.clock.set(at(-7_200));
    steps.tick().await;
    assert_eq!(world.store.held().await.unwrap(), [], "it would keep its slot for two hours");
    world.clock.set(at(60));
    assert_eq!(steps.tick().await.settled_count, 1);
}
