//! Retries, error actions, and what identifies them (CONTRACT 8; 17.1 #8, #11 to #13, #17; 18.7).

use super::world::{World, action, at, fixed, minutely, once, seconds, with};
use crate::RecordStatus::{Completed, Failed};
use crate::{Action, Cause, ExecutionTag, JobState, Sku};

#[test]
fn a_job_without_a_policy_is_retried_four_times_after_30_seconds_or_an_hour_on_the_free_plan() {
    let check = |sku, pause| {
        let mut world = World::put(with(once(), None, None));
        world.sku = sku;
        for attempt in 0..5 {
            let due = i64::from(attempt) * pause;
            assert_eq!((world.due(), world.entry().unwrap().attempt), (Some(due), attempt));
            world.fire(due, false);
        }
        assert_eq!((world.entry(), world.state()), (None, JobState::Faulted), "{sku:?}");
    };
    check(Sku::Standard, 30);
    check(Sku::P20Premium, 30);
    check(Sku::Free, 3_600);
}

#[test]
fn the_retry_policy_says_how_often_and_how_long_between() {
    let check = |count: u32, interval: i64| {
        let mut world = World::put(with(once(), fixed(count, interval), None));
        let mut now = 0;
        for _ in 0..count {
            world.fire(now, false);
            now += interval;
            assert_eq!(world.due(), Some(now));
        }
        world.fire(now, false);
        assert_eq!(world.entry(), None, "{count} retries");
        assert_eq!(world.counters(), (1, count + 1, 1));
    };
    check(0, 15);
    check(1, 15);
    check(20, 3_600);
}

#[test]
fn a_retry_is_due_after_the_end_of_the_failed_attempt_and_keeps_the_nominal_time() {
    let mut world = World::put(with(minutely(), fixed(2, 15), None));
    assert!(world.begin());
    world.until(7);
    world.finish(false);
    assert_eq!((world.due(), world.nominal()), (Some(22), Some(0)));
    world.fire(22, true);
    assert_eq!(world.history(Cause::Schedule), [(0, 0, 0, Failed), (0, 0, 1, Completed)]);
    assert_eq!(world.due(), Some(60));
}

#[test]
fn error_actions_follow_one_another_at_once_each_with_its_retries() {
    let third = Action { retry: fixed(1, 40), ..action() };
    let second = Action { retry: None, error_action: Some(Box::new(third)), ..action() };
    let mut world = World::put(with(once(), fixed(1, 20), Some(second)));
    let mut seen = Vec::new();
    let mut now = 0;
    while let Some(entry) = world.entry() {
        now = seconds(entry.due_at);
        seen.push((now, entry.step, entry.attempt));
        world.fire(now, false);
    }
    // The second has none of its own and takes the main action's.
    assert_eq!(seen, [(0, 0, 0), (20, 0, 1), (20, 1, 0), (40, 1, 1), (40, 2, 0), (80, 2, 1)]);
    assert_eq!(now, 80);
    assert_eq!((world.state(), world.counters()), (JobState::Faulted, (1, 2, 1)));
}

#[test]
fn an_error_action_that_succeeds_ends_the_chain_and_the_occurrence_has_failed_all_the_same() {
    let second = Action { error_action: Some(Box::new(action())), ..action() };
    let mut world = World::put(with(once(), fixed(0, 15), Some(second)));
    world.fire(0, false);
    assert_eq!(world.state(), JobState::Enabled, "the state is set when error actions are done");
    world.fire(1, true);
    assert_eq!((world.state(), world.entry()), (JobState::Faulted, None));
    assert_eq!(world.history(Cause::Schedule), [(0, 0, 0, Failed), (0, 1, 0, Completed)]);
}

#[test]
fn every_attempt_of_a_step_has_the_same_tag_and_every_step_another() {
    let tag = |world: &World| {
        let entry = world.entry().unwrap();
        ExecutionTag::of(world.job.id, entry.cause, entry.nominal_at, entry.step).to_string()
    };
    let error_action = Action { retry: None, ..action() };
    let mut world = World::put(with(minutely(), fixed(1, 15), Some(error_action)));
    let mut tags = vec![tag(&world)];
    for now in [0, 15, 15, 30] {
        world.fire(now, false);
        tags.push(tag(&world));
    }
    assert_eq!(tags[0], tags[1]);
    assert_eq!(tags[2], tags[3]);
    assert_ne!(tags[1], tags[2]);
    assert_ne!(tags[3], tags[4], "the next occurrence");
    assert!(tags.iter().all(|tag| tag.len() == 32 && tag.chars().all(|digit| digit.is_ascii_hexdigit())));
    let of = |job, cause, nominal, step| ExecutionTag::of(crate::JobId(job), cause, at(nominal), step);
    let one = of(1, Cause::Schedule, 0, 0);
    for other in [of(2, Cause::Schedule, 0, 0), of(1, Cause::Run, 0, 0), of(1, Cause::Schedule, 1, 0)] {
        assert_ne!(one, other);
    }
}

#[test]
fn later_attempts_use_the_definition_as_it_is_then() {
    let mut world = World::put(with(minutely(), fixed(5, 15), None));
    world.fire(0, false);
    world.patch(|spec| spec.action.retry = fixed(1, 15));
    assert_eq!(world.due(), Some(15), "the agenda is left alone");
    world.fire(15, false);
    assert_eq!((world.due(), world.counters()), (Some(60), (1, 2, 1)));
}

#[test]
fn an_error_action_that_an_edit_removes_while_it_is_pending_is_not_tried_again() {
    let mut world =
        World::put(with(minutely(), fixed(0, 15), Some(Action { retry: fixed(3, 15), ..action() })));
    world.fire(0, false);
    assert_eq!(world.entry().unwrap().step, 1);
    world.patch(|spec| {
        spec.action.error_action = None;
        spec.action.retry = fixed(4, 15);
    });
    world.fire(0, false);
    assert_eq!((world.nominal(), world.due()), (Some(60), Some(60)));
}

#[test]
fn an_error_action_that_an_edit_adds_while_a_retry_is_pending_runs() {
    let mut world = World::put(with(minutely(), fixed(1, 15), None));
    world.fire(0, false);
    world.patch(|spec| spec.action.error_action = Some(Box::new(action())));
    world.fire(15, false);
    assert_eq!(world.entry().map(|entry| (entry.step, entry.attempt)), Some((1, 0)));
}
