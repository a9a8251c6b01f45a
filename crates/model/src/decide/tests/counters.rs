//! What is counted, and to which generation it goes (CONTRACT 6, 9; 17.1 #14, #54; 18.7).

use super::world::{World, action, at, fixed, minutely, once, with};
use crate::{Cause, RecordStatus};

#[test]
fn an_occurrence_is_one_execution_however_many_attempts_it_takes() {
    let mut world = World::put(with(minutely(), fixed(2, 15), Some(action())));
    world.fire(0, false);
    assert_eq!(world.counters(), (1, 1, 0));
    world.fire(15, false);
    assert_eq!(world.counters(), (1, 2, 0));
    world.fire(30, false);
    assert_eq!(world.counters(), (1, 3, 1), "all attempts have failed");
    world.fire(30, false);
    assert_eq!(world.counters(), (1, 3, 1), "error actions are not counted");
}

#[test]
fn the_repeat_count_is_the_ordinal_of_the_occurrence_in_its_generation() {
    let mut world = World::put(with(minutely(), fixed(1, 15), None));
    world.fire(0, false);
    world.fire(15, true);
    world.fire(60, true);
    world.put_again(minutely());
    world.fire(60, true);
    let ordinals: Vec<_> = world.records.iter().map(|record| (record.generation, record.ordinal)).collect();
    assert_eq!(ordinals, [(1, 1), (1, 1), (1, 2), (2, 1)]);
}

#[test]
fn the_last_execution_is_the_start_of_the_first_attempt() {
    let mut world = World::put(with(minutely(), fixed(1, 15), None));
    assert_eq!(world.job.last_started_at, None);
    world.until(2);
    assert!(world.begin());
    world.until(5);
    world.finish(false);
    assert_eq!(world.job.last_started_at, Some(at(2)));
    world.fire(20, true);
    assert_eq!(world.job.last_started_at, Some(at(2)));
}

#[test]
fn a_put_begins_the_counters_anew_and_a_patch_keeps_them() {
    let mut world = World::put(with(minutely(), fixed(0, 15), None));
    world.fire(0, false);
    world.patch(|spec| spec.action.retry = None);
    assert_eq!(world.counters(), (1, 1, 1));
    world.put_again(minutely());
    assert_eq!((world.counters(), world.job.generation), ((0, 0, 0), 2));
}

#[test]
fn what_is_in_flight_during_a_put_is_recorded_in_its_own_generation() {
    let mut world = World::put(with(minutely(), fixed(1, 15), None));
    assert!(world.begin());
    world.until(10);
    world.put_again(minutely());
    world.until(20);
    world.finish(false);
    assert_eq!((world.records[0].generation, world.records[0].status), (1, RecordStatus::Failed));
    assert_eq!((world.counters(), world.due()), ((0, 0, 0), Some(60)), "no retry, the new schedule");
    assert_eq!(world.job.last_started_at, Some(at(0)));
}

#[test]
fn a_put_drops_a_pending_retry() {
    let mut world = World::put(with(minutely(), fixed(1, 30), None));
    world.fire(0, false);
    world.until(5);
    world.put_again(minutely());
    assert_eq!((world.nominal(), world.due()), (Some(60), Some(60)));
}

#[test]
fn disabling_while_a_retry_is_pending_fails_the_occurrence() {
    let mut world = World::put(with(minutely(), fixed(1, 15), None));
    world.fire(0, false);
    world.disable();
    assert_eq!((world.counters(), world.entry()), ((1, 1, 1), None));
}

#[test]
fn disabling_while_an_attempt_is_in_flight_lets_it_finish_and_it_decides() {
    let check = |failed_before: bool, succeeded: bool, counters| {
        let mut world = World::put(with(minutely(), fixed(3, 15), Some(action())));
        if failed_before {
            world.fire(0, false);
            world.until(15);
        }
        assert!(world.begin());
        world.disable();
        world.until(20);
        world.finish(succeeded);
        assert_eq!(world.counters(), counters, "failed before: {failed_before}, succeeded: {succeeded}");
        assert_eq!(world.entry(), None, "no retry, no error action");
        assert_eq!(world.history(Cause::Schedule).len(), 1 + usize::from(failed_before));
    };
    check(false, true, (1, 0, 0));
    check(false, false, (1, 1, 1));
    check(true, true, (1, 1, 0));
    check(true, false, (1, 2, 1));
}

#[test]
fn disabling_during_an_error_action_counts_nothing_twice() {
    for in_flight in [true, false] {
        let mut world = World::put(with(once(), fixed(0, 15), Some(action())));
        world.fire(0, false);
        if in_flight {
            assert!(world.begin());
            world.disable();
            world.finish(false);
        } else {
            world.disable();
        }
        assert_eq!((world.counters(), world.entry()), ((1, 1, 1), None));
    }
}
