//! When a job is done, and as what (CONTRACT 6; 17.1 #3, #20, #37; 18.5).

use super::world::{Edit, World, action, at, counted, fixed, minutely, once, with};
use crate::{Cause, JobState};

#[test]
fn the_last_occurrence_decides_between_completed_and_faulted() {
    let check = |outcomes: &[bool], state| {
        let mut world = World::put(counted(outcomes.len() as i64));
        for (index, &succeeded) in outcomes.iter().enumerate() {
            assert_eq!(world.state(), JobState::Enabled);
            world.fire(index as i64 * 60, succeeded);
        }
        assert_eq!(
            (world.state(), world.entry(), world.next_execution()),
            (state, None, None),
            "{outcomes:?}"
        );
    };
    check(&[true], JobState::Completed);
    check(&[false], JobState::Faulted);
    check(&[false, false, true], JobState::Completed);
    check(&[true, true, false], JobState::Faulted);
}

#[test]
fn a_job_that_runs_once_ends_with_its_outcome() {
    let check = |succeeded, state| {
        let mut world = World::put(once());
        assert_eq!(world.due(), Some(0), "at once is now");
        world.fire(3, succeeded);
        assert_eq!((world.state(), world.entry()), (state, None));
        assert_eq!(world.job.progress.ended_at, Some(at(3)));
    };
    check(true, JobState::Completed);
    check(false, JobState::Faulted);
}

#[test]
fn count_counts_what_was_started_not_what_was_skipped_nor_runs() {
    let mut world = World::put(with(counted(3), fixed(1, 15), None));
    world.fire(0, false);
    world.fire(15, false);
    assert!(world.run());
    world.fire(20, true);
    world.until(300);
    world.fire(300, true);
    assert_eq!(world.job.progress.started_count, 2);
    assert_eq!(world.nominal(), Some(360));
    world.fire(360, true);
    assert_eq!((world.state(), world.counters()), (JobState::Completed, (4, 2, 1)));
}

#[test]
fn the_end_time_is_inclusive_and_bounds_due_times_only() {
    let mut spec = with(minutely(), fixed(1, 600), None);
    spec.recurrence.as_mut().unwrap().end_at = Some(at(60));
    let mut world = World::put(spec);
    world.fire(0, true);
    world.fire(75, false);
    assert_eq!((world.nominal(), world.due()), (Some(60), Some(675)), "a retry may come after it");
    world.fire(675, true);
    assert_eq!((world.state(), world.entry()), (JobState::Completed, None));
}

#[test]
fn a_job_whose_end_is_past_is_completed_without_a_run() {
    let mut spec = minutely();
    spec.recurrence.as_mut().unwrap().end_at = Some(at(-60));
    let world = World::put(spec);
    assert_eq!((world.state(), world.counters()), (JobState::Completed, (0, 0, 0)));
}

#[test]
fn a_run_of_a_completed_or_faulted_job_executes_and_leaves_the_state() {
    let check = |before: bool, run: bool| {
        let mut world = World::put(once());
        world.fire(0, before);
        let state = world.state();
        world.until(100);
        assert!(world.run());
        world.fire(100, run);
        assert_eq!((world.state(), world.entry(), world.counters().0), (state, None, 2));
        assert_eq!(world.history(Cause::Run).len(), 1);
        assert_eq!(world.job.progress.ended_at, Some(at(100)), "purged some time after its last run");
    };
    check(true, false);
    check(false, true);
}

#[test]
fn enabling_a_job_with_nothing_left_completes_it() {
    let mut spec = minutely();
    spec.recurrence.as_mut().unwrap().end_at = Some(at(300));
    let mut world = World::put(spec);
    world.disable();
    world.until(1_000);
    world.enable();
    assert_eq!((world.state(), world.entry()), (JobState::Completed, None));
}

#[test]
fn a_count_that_is_reached_by_what_is_in_flight_ends_the_job_whatever_was_edited_meanwhile() {
    let edits: [Edit; 4] = [
        ("disabled and enabled", |world| {
            world.disable();
            world.enable();
        }),
        ("held and resumed", |world| {
            world.pause();
            world.resume();
        }),
        ("schedule changed", |world| {
            world.patch(|spec| spec.recurrence.as_mut().unwrap().interval = Some(2));
        }),
        ("nothing", |_| {}),
    ];
    for (name, edit) in edits {
        for (succeeded, state) in [(true, JobState::Completed), (false, JobState::Faulted)] {
            let mut world = World::put(counted(1));
            assert!(world.begin());
            world.until(10);
            edit(&mut world);
            world.until(20);
            world.finish(succeeded);
            assert_eq!((world.state(), world.entry()), (state, None), "{name}, {succeeded}");
            assert_eq!(world.job.progress.started_count, 1);
        }
    }
}

#[test]
fn a_job_that_runs_once_and_is_in_flight_while_it_is_switched_off_and_on_runs_once() {
    for (succeeded, state) in [(true, JobState::Completed), (false, JobState::Faulted)] {
        let mut world = World::put(once());
        assert!(world.begin());
        world.until(5);
        world.disable();
        world.until(10);
        world.enable();
        world.until(15);
        world.finish(succeeded);
        assert_eq!((world.state(), world.entry(), world.counters().0), (state, None, 1));
    }
}

#[test]
fn an_edit_that_leaves_nothing_while_an_attempt_is_in_flight_does_not_decide_how_the_job_ends() {
    let finishes = [
        (vec![false, false], JobState::Faulted),
        (vec![false, true], JobState::Completed),
        (vec![true], JobState::Completed),
    ];
    for (outcomes, state) in finishes {
        let mut world = World::put(with(minutely(), fixed(1, 15), Some(action())));
        assert!(world.begin());
        world.until(5);
        world.patch(|spec| spec.recurrence.as_mut().unwrap().end_at = Some(at(3)));
        world.until(6);
        world.finish(outcomes[0]);
        for &succeeded in &outcomes[1..] {
            assert_eq!(world.state(), JobState::Enabled, "the state is set when all attempts are done");
            world.fire(21, succeeded);
        }
        if world.entry().is_some() {
            world.fire(21, true);
        }
        assert_eq!((world.state(), world.entry()), (state, None), "{outcomes:?}");
    }
}

#[test]
fn what_fails_after_its_job_was_disabled_enabled_and_had_nothing_left_makes_it_faulted() {
    let mut spec = minutely();
    spec.recurrence.as_mut().unwrap().end_at = Some(at(30));
    let mut world = World::put(spec);
    assert!(world.begin());
    world.disable();
    world.until(40);
    world.enable();
    assert_eq!(world.state(), JobState::Completed);
    world.finish(false);
    assert_eq!(world.state(), JobState::Faulted);
}
