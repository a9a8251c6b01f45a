//! Claims are held until they are due, and given up when the job is edited.

use jiff::SignedDuration;

use crate::world::{World, at, minutely, once};

/// Half a second before a job is due, when it is claimed and held.
async fn held(spec_of: impl Fn(&str) -> punctual_model::JobSpec) -> (World, punctual_runner::Running) {
    let world = World::new().await;
    world.put("ok-held", spec_of("ok-held")).await;
    world.clock.set(at(60) - SignedDuration::from_millis(500));
    let running = world.runner().start().unwrap();
    world.wait_until_claimed().await;
    (world, running)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_claimed_ahead_is_not_fired_early() {
    let (world, running) = held(|name| once(name, 60)).await;
    // Another one that is due goes, and the one that is held does not.
    world.put("ok-now", once("ok-now", 0)).await;
    world.target.wait_for(1).await;
    assert_eq!(world.target.names(), ["ok-now"]);
    world.clock.set(at(60));
    world.target.wait_for(2).await;
    running.stop().await;
    assert_eq!(world.target.seen()[1].fired_at, at(60));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_between_claim_and_due_time_holds() {
    let edits: [fn(&mut punctual_model::JobSpec); 2] =
        [|spec| spec.enabled = false, |spec| spec.start_at = Some(at(6_000))];
    for edit in edits {
        let (world, running) = held(|name| minutely(name, 60)).await;
        world.patch("ok-held", edit).await;
        world.put("ok-other", once("ok-other", 60)).await;
        world.clock.set(at(70));
        world.target.wait_for(1).await;
        running.stop().await;
        assert_eq!(world.target.names(), ["ok-other"]);
        assert_eq!(world.history("ok-held").await, []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_asked_for_while_the_next_occurrence_is_held_goes_at_once_and_the_occurrence_on_time() {
    let (world, running) = held(|name| minutely(name, 60)).await;
    let now = at(60) - SignedDuration::from_millis(500);
    let job = punctual_model::decide::run(&world.job("ok-held").await, now).unwrap();
    world.write(job).await;
    world.target.wait_for(1).await;
    assert_eq!(world.target.seen()[0].nominal_at, now);
    world.clock.set(at(60));
    world.target.wait_for(2).await;
    running.stop().await;
    let nominal: Vec<_> = world.target.seen().iter().map(|seen| seen.nominal_at).collect();
    assert_eq!(nominal, [now, at(60)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_edited_in_flight_is_not_fired_again_before_it_has_ended() {
    let world = World::new().await;
    world.put("hang", minutely("hang", 0)).await;
    let running = world.runner().start().unwrap();
    world.target.wait_for(1).await;
    world.clock.set(at(300));
    world.put("hang", minutely("hang", 0)).await;
    world.put("ok", once("ok", 0)).await;
    world.target.wait_for(2).await;
    assert_eq!(world.target.names(), ["hang", "ok"], "never two in flight");
    world.target.let_go(1);
    world.target.wait_for(3).await;
    world.target.let_go(1);
    running.stop().await;
    let generations: Vec<_> = world.history("hang").await.iter().map(|record| record.generation).collect();
    assert_eq!(generations[0], 1);
    assert_eq!(generations.last(), Some(&2));
}
