//! What an edit passes over though it was due leaves a trace (CONTRACT 18.6).

use punctual_recurrence::{Frequency, Rule};

use super::world::{Edit, World, action, at, counted, fixed, minutely, once, with};
use crate::SkipReason::{Missed, Overlap};
use crate::{Cause, JobSpec, JobState};

/// Edits that take what is due off the agenda.
const EDITS: [Edit; 4] = [
    ("disable", World::disable),
    ("pause", World::pause),
    ("put", |world| world.put_again(minutely())),
    ("patch", |world| world.patch(|spec| spec.recurrence = Some(Rule::every(7, Frequency::Minute)))),
];

#[test]
fn occurrences_that_are_due_and_not_begun_when_an_edit_comes_are_missed() {
    for (name, edit) in EDITS {
        let check = |now: i64, skips: &[(i64, i64, u64, crate::SkipReason)]| {
            let mut world = World::put(minutely());
            world.until(now);
            edit(&mut world);
            assert_eq!(world.skipped(), skips, "{name} at {now}");
            assert!(world.skips.iter().all(|skip| skip.generation == 1 && skip.decided_at == at(now)));
            assert!(world.due().is_none_or(|due| due > now || name == "put"), "{name} at {now}");
        };
        check(0, &[(0, 0, 1, Missed)]);
        check(59, &[(0, 0, 1, Missed)]);
        check(60, &[(0, 60, 2, Missed)]);
        check(601, &[(0, 600, 11, Missed)]);
    }
}

#[test]
fn an_edit_passes_over_nothing_that_is_still_to_come() {
    for (name, edit) in EDITS {
        let mut world = World::put(JobSpec { start_at: Some(at(60)), ..minutely() });
        edit(&mut world);
        assert_eq!(world.skipped(), [], "{name}");
        let mut world = World::put(minutely());
        world.fire(0, true);
        world.until(59);
        edit(&mut world);
        assert_eq!(world.skipped(), [], "{name}");
    }
}

#[test]
fn occurrences_that_wait_behind_a_retry_when_an_edit_comes_are_an_overlap() {
    for (name, edit) in EDITS {
        let mut world = World::put(with(minutely(), fixed(1, 300), Some(action())));
        world.fire(0, false);
        world.until(130);
        edit(&mut world);
        assert_eq!(world.skipped(), [(60, 120, 2, Overlap)], "{name}");
    }
}

#[test]
fn occurrences_that_wait_behind_a_run_when_an_edit_comes_are_an_overlap() {
    for (name, edit) in EDITS {
        let mut world = World::put(JobSpec { start_at: Some(at(60)), ..minutely() });
        assert!(world.run());
        world.until(130);
        edit(&mut world);
        assert_eq!(world.skipped(), [(60, 120, 2, Overlap)], "{name}");
    }
}

#[test]
fn an_edit_that_changes_no_times_and_a_run_pass_over_nothing() {
    let mut world = World::put(minutely());
    world.until(100);
    world.patch(|spec| spec.action.error_action = Some(Box::new(action())));
    assert!(world.run());
    assert_eq!((world.skipped(), world.nominal()), (vec![], Some(0)));
}

#[test]
fn spans_in_which_a_job_is_off_yield_nothing() {
    let mut world = World::put(JobSpec { start_at: Some(at(60)), ..minutely() });
    world.disable();
    world.until(300);
    world.put_again(JobSpec { enabled: false, ..minutely() });
    world.enable();
    world.pause();
    world.until(600);
    world.disable();
    world.resume();
    world.enable();
    assert_eq!((world.skipped(), world.due()), (vec![(300, 300, 1, Missed)], Some(600)));
}

#[test]
fn what_was_in_flight_when_an_edit_passed_it_over_is_recorded_and_nothing_is_skipped_twice() {
    for (name, edit) in EDITS {
        let mut world = World::put(minutely());
        world.until(130);
        assert!(world.begin());
        world.until(190);
        edit(&mut world);
        world.until(200);
        world.finish(true);
        let nominal: Vec<_> = world.history(Cause::Schedule).iter().map(|record| record.0).collect();
        // The trace is written with the edit, which can't know whether the attempt will ever be recorded;
        // where there is a record, that is what happened.
        assert_eq!((nominal, world.skipped()), (vec![120], vec![(0, 180, 4, Missed)]), "{name}");
    }
}

/// What becomes of an occurrence that is due when an edit comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    NotBegun,
    /// It was in flight, and the server was killed before it could be recorded.
    Lost,
    Recorded,
}

#[test]
fn what_is_due_behind_the_last_that_count_allows_is_passed_over_with_it_since_it_may_never_be_recorded() {
    let edits: [Edit; 3] = [
        ("disabled and enabled", |world| {
            world.disable();
            world.enable();
        }),
        ("held and resumed", |world| {
            world.pause();
            world.resume();
        }),
        ("schedule changed", |world| {
            world.patch(|spec| spec.recurrence.as_mut().unwrap().end_at = Some(at(6_000)));
        }),
    ];
    for (name, edit) in edits {
        let check = |fate: Fate, begun: &[i64]| {
            let mut world = World::put(counted(3));
            world.fire(0, true);
            world.fire(60, true);
            world.until(120);
            assert!(fate == Fate::NotBegun || world.begin());
            world.until(250);
            edit(&mut world);
            // The job that is edited is the same in each case, so the trace is: what is due may be one that was
            // not begun, and then those behind it are due as well (18.6).
            assert_eq!(world.skipped(), [(120, 240, 3, Missed)], "{name}, {fate:?}");
            match fate {
                Fate::NotBegun => {}
                Fate::Lost => world.in_flight = None,
                Fate::Recorded => world.finish(true),
            }
            if fate != Fate::Recorded {
                world.fire(300, true);
            }
            let history = world.history(Cause::Schedule);
            assert_eq!(history.iter().map(|record| record.0).collect::<Vec<_>>(), begun, "{name}, {fate:?}");
            assert_eq!((world.state(), world.entry()), (JobState::Completed, None), "{name}, {fate:?}");
            assert_eq!(world.skips.len(), 1, "{name}, {fate:?}");
        };
        // One outcome for each: 0, 60, the trace, 300.
        check(Fate::NotBegun, &[0, 60, 300]);
        check(Fate::Lost, &[0, 60, 300]);
        // Here the trace says more than there was: 120 was the last, 180 and 240 were not to be. Who wrote it
        // could not know; an outcome too many is better than one that is missing.
        check(Fate::Recorded, &[0, 60, 120]);
    }
    for (name, edit) in EDITS {
        let mut world = World::put(counted(1));
        assert!(world.begin());
        world.until(130);
        edit(&mut world);
        world.finish(true);
        assert_eq!(world.skipped(), [(0, 120, 3, Missed)], "{name}");
    }
}

#[test]
fn what_comes_due_in_a_new_generation_while_an_attempt_of_the_old_one_is_in_flight_waits() {
    let mut world = World::put(minutely());
    assert!(world.begin());
    world.until(30);
    world.put_again(minutely());
    world.until(200);
    world.finish(false);
    assert_eq!((world.nominal(), world.due()), (Some(180), Some(200)));
    assert_eq!(world.skipped(), [(0, 0, 1, Missed), (60, 120, 2, Overlap)]);
    assert_eq!(world.records.iter().map(|record| record.generation).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_job_that_runs_once_and_was_not_begun_runs_when_it_is_switched_on_again() {
    let mut world = World::put(once());
    world.until(5);
    world.disable();
    assert_eq!(world.skipped(), [(0, 0, 1, Missed)]);
    world.until(10);
    world.enable();
    world.fire(10, true);
    assert_eq!(world.counters(), (1, 0, 0));
}
