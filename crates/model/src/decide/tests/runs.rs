//! Run now (CONTRACT 17.1 #2 to #4; 18.7).

use std::collections::BTreeSet;

use super::world::{Edit, World, at, fixed, minutely, once, with};
use crate::RecordStatus::{Completed, Failed, Postponed};
use crate::decide::RUNS_WAITING_MAX;
use crate::{Cause, JobSpec, JobState};

#[test]
fn a_run_leaves_schedule_count_and_state_untouched_and_is_an_execution() {
    let mut world = World::put(JobSpec { start_at: Some(at(60)), ..minutely() });
    world.until(10);
    assert!(world.run());
    assert_eq!((world.due(), world.next_execution()), (Some(10), Some(60)));
    world.fire(10, true);
    assert_eq!((world.due(), world.counters(), world.job.progress.started_count), (Some(60), (1, 0, 0), 0));
    world.fire(60, true);
    let ordinals: Vec<_> = world.records.iter().map(|record| (record.cause, record.ordinal)).collect();
    assert_eq!(ordinals, [(Cause::Run, 1), (Cause::Schedule, 2)]);
}

#[test]
fn a_run_has_retries_and_error_actions_as_usual() {
    let mut world = World::put(with(minutely(), fixed(1, 15), Some(super::world::action())));
    world.disable();
    assert!(world.run());
    for now in [0, 15, 15] {
        world.fire(now, false);
    }
    assert_eq!(world.history(Cause::Run), [(0, 0, 0, Failed), (0, 0, 1, Failed), (0, 1, 0, Failed)]);
    assert_eq!((world.state(), world.entry(), world.counters()), (JobState::Disabled, None, (1, 2, 1)));
}

#[test]
fn a_run_that_fails_does_not_fault_a_job_whose_occurrences_succeeded() {
    let mut world = World::put(super::world::counted(1));
    assert!(world.run(), "behind the occurrence, which is due");
    world.fire(0, true);
    world.fire(1, false);
    assert_eq!((world.state(), world.counters()), (JobState::Completed, (2, 1, 1)));
}

#[test]
fn runs_asked_for_in_the_same_instant_are_runs_of_their_own() {
    let mut world = World::put(minutely());
    world.disable();
    for _ in 0..5 {
        assert!(world.run());
    }
    world.until(1);
    for _ in 0..5 {
        world.fire(1, true);
    }
    assert_eq!((world.entry(), world.counters()), (None, (5, 0, 0)));
    let nominal: BTreeSet<_> = world.records.iter().map(|record| record.nominal_at).collect();
    assert_eq!(nominal.len(), 5, "each has its own tag");
}

#[test]
fn a_run_asked_for_in_the_instant_in_which_one_was_run_is_another() {
    let mut world = World::put(minutely());
    world.disable();
    assert!(world.run());
    world.fire(0, true);
    assert!(world.run());
    world.fire(1, true);
    assert_ne!(world.records[0].nominal_at, world.records[1].nominal_at);
}

#[test]
fn a_run_waits_behind_what_is_in_flight() {
    let mut world = World::put(with(minutely(), fixed(1, 15), None));
    assert!(world.begin());
    world.until(5);
    assert!(world.run());
    world.until(10);
    world.finish(false);
    assert_eq!((world.nominal(), world.due()), (Some(0), Some(25)), "the retry is in flight too");
    world.fire(25, true);
    assert_eq!(world.entry().map(|entry| (entry.cause, entry.due_at)), Some((Cause::Run, at(5))));
    world.fire(25, true);
    assert_eq!(world.due(), Some(60));
}

#[test]
fn a_run_asked_for_while_a_retry_is_pending_waits_behind_it() {
    let mut world = World::put(with(minutely(), fixed(1, 30), None));
    world.fire(0, false);
    world.until(10);
    assert!(world.run());
    assert_eq!(world.due(), Some(30));
    world.fire(30, false);
    assert_eq!(world.nominal(), Some(10));
}

#[test]
fn a_run_goes_before_an_occurrence_that_came_due_later_and_behind_one_that_was_due_before() {
    let mut world = World::put(minutely());
    assert!(world.begin());
    world.until(30);
    assert!(world.run());
    world.until(65);
    world.finish(true);
    assert_eq!(world.nominal(), Some(30));
    world.fire(65, true);
    assert_eq!(world.nominal(), Some(60));
    assert_eq!(world.history(Cause::Schedule), [(0, 0, 0, Completed), (60, 0, 0, Postponed)]);

    let mut world = World::put(minutely());
    assert!(world.begin());
    world.until(90);
    assert!(world.run());
    world.finish(true);
    assert_eq!(world.nominal(), Some(60));
    world.fire(90, true);
    assert_eq!(world.nominal(), Some(90));
}

#[test]
fn runs_that_wait_are_never_lost() {
    let edits: [Edit; 6] = [
        ("disable", World::disable),
        ("put", |world| world.put_again(minutely())),
        ("put disabled", |world| world.put_again(JobSpec { enabled: false, ..minutely() })),
        ("pause and resume", |world| {
            world.pause();
            assert_eq!(world.entry(), None);
            world.resume();
        }),
        ("patch", |world| world.patch(|spec| spec.start_at = Some(at(1)))),
        ("disable, pause, resume, enable", |world| {
            world.disable();
            world.pause();
            world.resume();
            world.enable();
        }),
    ];
    for (name, edit) in edits {
        let mut world = World::put(JobSpec { start_at: Some(at(600)), ..minutely() });
        world.until(10);
        world.run();
        world.until(20);
        world.run();
        edit(&mut world);
        world.fire(30, true);
        world.fire(30, true);
        assert_eq!(world.history(Cause::Run), [(10, 0, 0, Completed), (20, 0, 0, Completed)], "{name}");
        assert!(!world.begin(), "{name}");
    }
}

#[test]
fn a_run_in_flight_during_an_edit_is_run_once() {
    let edits: [Edit; 6] = [
        ("disable", World::disable),
        ("disable and enable", |world| {
            world.disable();
            world.enable();
        }),
        ("put", |world| world.put_again(JobSpec { start_at: Some(at(600)), ..minutely() })),
        ("pause and resume", |world| {
            world.pause();
            world.resume();
        }),
        ("pause", World::pause),
        ("patch", |world| world.patch(|spec| spec.start_at = Some(at(700)))),
    ];
    for (name, edit) in edits {
        for waiting in [false, true] {
            let mut world = World::put(JobSpec { start_at: Some(at(600)), ..minutely() });
            assert!(world.run() && world.begin());
            world.until(1);
            if waiting {
                assert!(world.run());
            }
            edit(&mut world);
            world.until(2);
            world.finish(true);
            world.resume();
            if waiting {
                world.fire(2, true);
            }
            assert!(!world.begin(), "{name}: {:?}", world.job.progress);
            assert_eq!(world.history(Cause::Run).len(), 1 + usize::from(waiting), "{name}");
        }
    }
}

#[test]
fn a_run_of_a_disabled_job_does_not_enable_it() {
    let mut world = World::put(once());
    world.disable();
    world.until(10);
    assert!(world.run());
    world.fire(10, true);
    assert_eq!((world.state(), world.entry()), (JobState::Disabled, None));
    world.enable();
    assert_eq!(world.due(), Some(10), "its one occurrence is still to come");
}

#[test]
fn as_many_runs_wait_as_may_and_no_more() {
    let mut world = World::put(minutely());
    world.disable();
    assert!(world.run(), "the first is the entry");
    for _ in 0..RUNS_WAITING_MAX {
        assert!(world.run());
    }
    assert!(!world.run());
}

#[test]
fn runs_have_instants_of_their_own_whatever_clocks_say() {
    let mut world = World::put(minutely());
    world.disable();
    world.until(100);
    let mut seen = BTreeSet::new();
    for asked in [100, 100, 40, 40, 100, 101] {
        let job = crate::decide::run(&world.job, at(asked)).unwrap();
        let entry = job.progress.entry.unwrap();
        assert!(entry.due_at <= at(asked), "it goes at once, though the clock was set back");
        assert!(seen.insert(entry.nominal_at), "{asked}");
        world.job = job;
        world.fire(asked.max(100), true);
    }
    assert_eq!(seen.last(), Some(&at(101)), "and by the clock as soon as that is ahead again");
    assert_eq!(world.records.iter().map(|record| record.nominal_at).collect::<BTreeSet<_>>(), seen);
}
