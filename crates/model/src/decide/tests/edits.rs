//! PUT, PATCH, disabling and enabling, of jobs and of collections (CONTRACT 3.6, 5.8, 5.9; 17.1 #1, #16;
//! 17.2 #56; 18.1, 18.7).

use punctual_recurrence::{Frequency, Rule};

use super::world::{Edit, World, action, at, counted, fixed, minutely, once, seconds, with};
use crate::{JobSpec, JobState, decide};

fn every(minutes: i64) -> Option<Rule> {
    Some(Rule::every(minutes, Frequency::Minute))
}

#[test]
fn at_once_is_now() {
    let check = |spec: JobSpec, due| assert_eq!(World::put_at(30, spec).due(), Some(due));
    check(once(), 30);
    check(JobSpec { start_at: Some(at(-100)), ..once() }, 30);
    check(JobSpec { start_at: Some(at(100)), ..once() }, 100);
    check(JobSpec { start_at: None, ..minutely() }, 30);
    check(minutely(), 60);
}

#[test]
fn what_is_in_flight_is_not_what_comes_next() {
    let check = |spec: JobSpec, next: Option<i64>| {
        let world = World::put(spec);
        assert_eq!(world.next_execution(), Some(0));
        let during = decide::next_execution_at(&world.job, true, true).map(seconds);
        assert_eq!(during, next);
    };
    check(minutely(), Some(60));
    check(counted(2), Some(60));
    check(counted(1), None);
    check(once(), None);
}

#[test]
fn a_patch_of_the_action_alone_leaves_the_agenda_alone() {
    let mut world = World::put(with(minutely(), fixed(1, 15), None));
    let change = |spec: &mut JobSpec| spec.action.error_action = Some(Box::new(action()));
    for due in [Some(0), Some(15), Some(60)] {
        assert_eq!(world.due(), due);
        let before = world.job.progress.clone();
        world.patch(change);
        assert_eq!(world.job.progress, before);
        world.fire(due.unwrap(), due == Some(15));
    }
}

#[test]
fn a_patch_of_the_schedule_takes_the_next_from_now_on_the_same_anchor() {
    let mut world = World::put(JobSpec { start_at: None, ..minutely() });
    world.fire(0, true);
    world.until(100);
    world.patch(|spec| spec.recurrence = every(3));
    assert_eq!((world.due(), world.next_execution()), (Some(180), Some(180)), "counted from the put");
    world.patch(|spec| spec.start_at = Some(at(90)));
    assert_eq!(world.due(), Some(270));
}

#[test]
fn a_patch_of_the_schedule_goes_behind_what_was_started() {
    let mut world = World::put(minutely());
    world.fire(60, true);
    world.until(60);
    world.patch(|spec| spec.recurrence = every(2));
    assert_eq!(world.due(), Some(120));
}

#[test]
fn a_patch_of_the_schedule_keeps_a_pending_retry() {
    let mut world = World::put(with(minutely(), fixed(1, 30), None));
    world.fire(0, false);
    world.until(10);
    world.patch(|spec| spec.recurrence = every(5));
    assert_eq!((world.nominal(), world.due(), world.next_execution()), (Some(0), Some(30), Some(300)));
    world.fire(30, true);
    assert_eq!((world.due(), world.counters()), (Some(300), (1, 1, 0)));
}

#[test]
fn a_patch_of_the_schedule_while_an_attempt_is_in_flight_keeps_its_retries() {
    let mut world = World::put(with(minutely(), fixed(1, 30), None));
    assert!(world.begin());
    world.until(10);
    world.patch(|spec| spec.recurrence = every(5));
    world.until(20);
    world.finish(false);
    assert_eq!((world.nominal(), world.due()), (Some(0), Some(50)));
    world.fire(50, true);
    assert_eq!((world.due(), world.counters()), (Some(300), (1, 1, 0)));
}

#[test]
fn nothing_is_kept_in_arrears_while_a_job_is_disabled() {
    let mut world = World::put(minutely());
    world.fire(0, true);
    world.until(30);
    world.disable();
    assert_eq!((world.state(), world.entry(), world.next_execution()), (JobState::Disabled, None, None));
    world.until(610);
    world.enable();
    assert_eq!((world.state(), world.due(), world.skipped()), (JobState::Enabled, Some(660), vec![]));
}

#[test]
fn nothing_is_kept_in_arrears_while_a_collection_is_off() {
    let mut world = World::put(minutely());
    world.fire(0, true);
    world.until(30);
    world.pause();
    assert_eq!((world.state(), world.entry(), world.next_execution()), (JobState::Enabled, None, None));
    world.until(610);
    world.resume();
    assert_eq!((world.due(), world.skipped()), (Some(660), vec![]));
}

#[test]
fn a_disabled_job_stays_disabled_when_its_collection_is_switched_on() {
    let mut world = World::put(minutely());
    world.disable();
    world.pause();
    world.resume();
    assert_eq!((world.state(), world.entry()), (JobState::Disabled, None));
}

#[test]
fn a_job_that_is_enabled_in_a_collection_that_is_off_waits_for_it() {
    let mut world = World::put(minutely());
    world.pause();
    world.disable();
    world.until(90);
    world.enable();
    world.patch(|spec| spec.recurrence = every(2));
    assert_eq!((world.state(), world.entry(), world.next_execution()), (JobState::Enabled, None, None));
    world.until(130);
    world.resume();
    assert_eq!(world.due(), Some(240));
}

#[test]
fn a_job_that_runs_once_and_whose_time_passed_while_it_was_off_runs_at_once_when_it_is_on() {
    let spec = || JobSpec { start_at: Some(at(60)), ..once() };
    let mut world = World::put(spec());
    world.disable();
    world.until(100);
    world.enable();
    assert_eq!(world.due(), Some(100));
    let mut world = World::put(spec());
    world.pause();
    world.until(100);
    world.resume();
    assert_eq!(world.due(), Some(100));
    let mut world = World::put(spec());
    world.disable();
    world.until(30);
    world.enable();
    assert_eq!(world.due(), Some(60), "its time is still to come");
}

#[test]
fn a_recurring_job_created_disabled_without_a_start_takes_its_grid_when_it_is_enabled() {
    let mut world = World::put(JobSpec { start_at: None, enabled: false, ..minutely() });
    assert_eq!((world.state(), world.entry()), (JobState::Disabled, None));
    world.until(90);
    world.enable();
    assert_eq!(world.due(), Some(120));
}

#[test]
fn a_patch_while_disabled_holds_when_the_job_is_enabled() {
    let mut world = World::put(minutely());
    world.disable();
    world.patch(|spec| spec.recurrence = every(5));
    assert_eq!(world.entry(), None);
    world.until(70);
    world.enable();
    assert_eq!(world.due(), Some(300));
}

#[test]
fn an_attempt_in_flight_through_a_span_of_disabledness_does_not_disturb_what_was_scheduled() {
    let switches: [[Edit; 2]; 2] = [
        [("disable", World::disable), ("enable", World::enable)],
        [("pause", World::pause), ("resume", World::resume)],
    ];
    for [(name, off), (_, on)] in switches {
        let mut world = World::put(with(minutely(), fixed(3, 15), None));
        assert!(world.begin());
        world.until(10);
        off(&mut world);
        world.until(130);
        on(&mut world);
        assert_eq!(world.due(), Some(180));
        world.until(140);
        world.finish(false);
        assert_eq!((world.nominal(), world.due()), (Some(180), Some(180)), "dropped: no retry");
        assert_eq!(world.counters(), (1, 1, 1), "{name}");
    }
}

#[test]
fn what_ends_while_its_collection_is_off_puts_nothing_on_the_agenda() {
    for succeeded in [true, false] {
        let mut world = World::put(with(minutely(), fixed(3, 15), None));
        assert!(world.begin());
        world.pause();
        world.until(200);
        world.finish(succeeded);
        assert_eq!((world.state(), world.entry()), (JobState::Enabled, None));
    }
}

#[test]
fn enabling_a_job_keeps_the_retry_of_a_run() {
    let mut world = World::put(with(minutely(), fixed(1, 30), None));
    world.disable();
    assert!(world.run());
    world.fire(0, false);
    world.until(10);
    world.enable();
    assert_eq!(world.due(), Some(30), "only disabling, PUT and delete drop retries");
    world.fire(30, true);
    assert_eq!((world.due(), world.counters()), (Some(60), (1, 1, 0)));
}
