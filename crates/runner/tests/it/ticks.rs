//! The steps one after another.

use jiff::SignedDuration;
use punctual_model::{Cause, Entry, JobState, RecordStatus, RetryPolicy};
use punctual_runner::Report;

use crate::world::{World, action, at, minutely, once};

#[tokio::test]
async fn a_tick_fires_what_is_due_and_nothing_ahead_of_time() {
    let world = World::new().await;
    let mut steps = world.runner().steps();
    world.put("ok", once("ok", 10)).await;
    world.clock.set(at(10) - SignedDuration::from_nanos(100));
    assert_eq!(steps.tick().await, Report { claimed_count: 1, settled_count: 0 }, "it is claimed ahead");
    assert_eq!(world.target.seen(), []);
    world.clock.set(at(10));
    assert_eq!(steps.tick().await, Report { claimed_count: 0, settled_count: 1 });
    assert_eq!(steps.tick().await, Report::default());
    assert_eq!(world.job("ok").await.state, JobState::Completed);
}

#[tokio::test]
async fn an_hour_of_a_job_is_sixty_records_in_order_and_counters_that_say_so() {
    let world = World::new().await;
    let mut steps = world.runner().steps();
    world.put("ok", minutely("ok", 0)).await;
    world.put("fail", minutely("fail", 0)).await;
    for minute in 0..60 {
        world.clock.set(at(minute * 60));
        assert_eq!(steps.tick().await.settled_count, 2);
    }
    for (name, failures) in [("ok", 0), ("fail", 60)] {
        let counters = world.job(name).await.counters;
        assert_eq!((counters.execution, counters.failure, counters.faulted), (60, failures, failures));
        let history = world.history(name).await;
        let nominal: Vec<_> = history.iter().map(|record| record.nominal_at).collect();
        assert_eq!(nominal, (0..60).map(|minute| at(minute * 60)).collect::<Vec<_>>());
        assert!(history.iter().all(|record| record.cause == Cause::Schedule));
    }
}

#[tokio::test]
async fn retries_and_error_actions_carry_their_tags() {
    let world = World::new().await;
    let mut steps = world.runner().steps();
    let mut spec = minutely("fail", 0);
    let interval = Some(SignedDuration::from_secs(15));
    spec.action.retry = Some(RetryPolicy { fixed: true, interval, count: Some(1) });
    spec.action.error_action = Some(Box::new(action("fail")));
    world.put("fail", spec).await;
    for (now, count) in [(0, 1), (14, 0), (15, 2)] {
        world.clock.set(at(now));
        assert_eq!(steps.tick().await.settled_count, count, "at {now}");
    }
    let seen = world.target.seen();
    assert_eq!(seen.iter().map(|seen| seen.attempt).collect::<Vec<_>>(), [0, 1, 0]);
    assert!(seen[0].tag == seen[1].tag && seen[1].tag != seen[2].tag);
    assert!(seen.iter().all(|seen| seen.nominal_at == at(0)));
}

#[tokio::test]
async fn retries_without_a_policy_keep_to_the_limits_that_were_set() {
    let mut world = World::new().await;
    world.settings.limits.standard.retry_interval_min = SignedDuration::from_mins(5);
    let mut steps = world.runner().steps();
    let mut spec = once("fail", 0);
    spec.action.retry = None;
    world.put("fail", spec).await;
    assert_eq!(steps.tick().await.settled_count, 1);
    assert_eq!(world.job("fail").await.progress.entry.unwrap().due_at, at(300));
}

#[tokio::test]
async fn an_error_action_that_was_removed_while_it_was_pending_is_recorded_and_not_fired() {
    let world = World::new().await;
    let mut job = world.put("fail", minutely("fail", 0)).await;
    let entry = job.progress.entry.unwrap();
    job.progress.entry = Some(Entry { step: 1, ordinal: 1, ..entry });
    job.progress.past_at = Some(entry.nominal_at);
    world.write(job).await;
    world.runner().steps().tick().await;
    assert_eq!(world.target.seen(), []);
    let history = world.history("fail").await;
    let rows: Vec<_> = history.iter().map(|record| (record.step, record.status)).collect();
    assert_eq!(rows, [(1, RecordStatus::Failed)]);
    assert_eq!(world.job("fail").await.progress.entry.unwrap().nominal_at, at(60));
}

#[tokio::test]
async fn a_job_that_is_deleted_while_it_is_in_flight_leaves_nothing_behind() {
    use punctual_store::{Archive, Resources};
    let world = World::new().await;
    let job = world.put("hang", once("hang", 0)).await;
    let running = world.runner().start().unwrap();
    world.target.wait_for(1).await;
    assert!(world.store.delete_job(&job.key, None).await.unwrap());
    world.target.let_go(1);
    running.stop().await;
    assert_eq!(world.store.records_between(job.id, at(-1), at(1), 10).await.unwrap(), []);
}
