//! One occurrence at a time; the newest of those that waited or were missed (17.1 #15; 18.6, 18.7).

use super::world::{World, at, fixed, minutely, with};
use crate::RecordStatus::{Completed, Failed, Postponed};
use crate::{Cause, SkipReason, decide};

#[test]
fn what_came_due_during_a_run_is_released_once_with_a_record_and_the_others_are_one_skip() {
    let check = |ended: i64, newest: i64, skips: &[(i64, i64, u64, SkipReason)]| {
        let mut world = World::put(minutely());
        assert!(world.begin());
        world.until(ended);
        world.finish(true);
        assert_eq!(world.history(Cause::Schedule), [(0, 0, 0, Completed), (newest, 0, 0, Postponed)]);
        let postponed = &world.records[1];
        assert_eq!((postponed.started_at, postponed.ended_at), (at(newest), at(ended)));
        assert_eq!(postponed.ordinal, 2);
        assert_eq!((world.nominal(), world.due()), (Some(newest), Some(ended)));
        assert_eq!(world.skipped(), skips);
        world.fire(ended, true);
        assert_eq!(world.counters(), (2, 0, 0));
        assert_eq!(world.nominal(), Some(newest + 60));
    };
    check(60, 60, &[]);
    check(119, 60, &[]);
    check(120, 120, &[(60, 60, 1, SkipReason::Overlap)]);
    check(3_700, 3_660, &[(60, 3_600, 60, SkipReason::Overlap)]);
}

#[test]
fn retries_and_error_actions_are_in_flight_too() {
    let mut world = World::put(with(minutely(), fixed(1, 200), Some(super::world::action())));
    world.fire(0, false);
    assert_eq!(world.next_execution(), Some(60), "never a retry");
    world.fire(200, false);
    assert_eq!(world.nominal(), Some(0), "the error action is before the occurrences that wait");
    world.fire(200, true);
    let history = world.history(Cause::Schedule);
    assert_eq!(history, [(0, 0, 0, Failed), (0, 0, 1, Failed), (0, 1, 0, Completed), (180, 0, 0, Postponed)]);
    assert_eq!(world.skipped(), [(60, 120, 2, SkipReason::Overlap)]);
}

#[test]
fn after_a_downtime_the_newest_starts_and_the_others_are_missed() {
    let mut world = World::put(minutely());
    world.until(305);
    assert!(world.begin());
    assert_eq!(world.in_flight.as_ref().unwrap().claimed.progress.entry.unwrap().nominal_at, at(300));
    world.finish(true);
    assert_eq!(world.skipped(), [(0, 240, 5, SkipReason::Missed)]);
    assert_eq!((world.due(), world.counters()), (Some(360), (1, 0, 0)));
    assert_eq!(world.history(Cause::Schedule), [(300, 0, 0, Completed)]);
}

#[test]
fn after_a_downtime_a_pending_retry_comes_before_the_newest_that_was_missed() {
    let mut world = World::put(with(minutely(), fixed(1, 15), None));
    world.fire(0, false);
    world.until(600);
    assert_eq!(decide::catch_up(&world.job, world.now), None);
    world.fire(600, true);
    assert_eq!((world.nominal(), world.skipped()), (Some(600), vec![(60, 540, 9, SkipReason::Overlap)]));
}

#[test]
fn nothing_is_caught_up_with_what_is_on_time_or_runs_once() {
    let check = |world: &World| assert_eq!(decide::catch_up(&world.job, world.now), None);
    let mut world = World::put(minutely());
    world.until(59);
    check(&world);
    let mut world = World::put(super::world::once());
    world.until(1_000_000);
    check(&world);
    assert_eq!(world.nominal(), Some(0));
}

#[test]
fn a_clock_that_was_set_back_repeats_nothing() {
    let mut world = World::put(minutely());
    world.fire(60, true);
    world.until(-3_600);
    assert_eq!((world.nominal(), world.begin()), (Some(120), false));
    world.patch(|spec| spec.recurrence.as_mut().unwrap().interval = Some(2));
    assert_eq!(world.nominal(), Some(120), "later than the last one started");
}
