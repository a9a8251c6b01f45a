//! The clock goes far ahead and is set back: the job goes on from there.

use punctual_recurrence::{Frequency, Rule};

use super::world::{World, action, at, counted, fixed, minutely, once, with};
use crate::RecordStatus::{Completed, Failed};
use crate::SkipReason::{Missed, Overlap};
use crate::decide::{Marks, next_execution_at};
use crate::{Cause, JobSpec, JobState, OccurrenceRange};

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

/// Goes to an instant, as if by a clock that is set, and repairs.
fn set_back(world: &mut World, now: i64) {
    world.until(now);
    assert!(world.repair(), "{:?} needs no repair at {now}", world.job.progress);
    assert!(!world.repair(), "once is enough");
}

/// Fires whatever is due, minute by minute; the nominal times.
fn fire_until(world: &mut World, end: i64) -> Vec<i64> {
    let before = world.records.len();
    while let Some(due) = world.due().filter(|due| *due <= end) {
        world.fire(due.max(super::world::seconds(world.now)), true);
    }
    let records = world.records[before..].iter();
    records.map(|record| super::world::seconds(record.nominal_at)).collect()
}

#[test]
fn a_job_resumes_at_the_next_occurrence_after_the_corrected_time() {
    let mut world = World::put(minutely());
    world.fire(0, true);
    world.fire(5 * DAY + 30, true);
    assert_eq!(world.skipped(), [(60, 5 * DAY - 60, 7_199, Missed)]);
    assert_eq!(world.nominal(), Some(5 * DAY + 60));
    set_back(&mut world, 150);
    assert_eq!((world.nominal(), world.due()), (Some(180), Some(180)));
    assert_eq!(world.skipped(), [(60, 120, 2, Missed)], "what is past stays missed, the rest is to come");
    assert_eq!(world.job.progress.ahead, [OccurrenceRange { first_at: at(5 * DAY), last_at: at(5 * DAY) }]);
    assert_eq!(world.counters(), (2, 0, 0));
}

#[test]
fn what_was_fired_ahead_of_its_time_is_not_fired_again() {
    let mut world = World::put(minutely());
    world.fire(0, true);
    world.fire(HOUR + 30, true);
    world.fire(HOUR + 60, false);
    set_back(&mut world, 70);
    let fired = fire_until(&mut world, HOUR + 180);
    let expected: Vec<i64> = (2..60).chain(62..64).map(|minute| minute * 60).collect();
    assert_eq!(fired, expected);
    assert_eq!(world.skipped(), [(60, 60, 1, Missed)]);
    assert_eq!(world.job.progress.ahead, [], "that lies behind by now");
}

#[test]
fn what_was_fired_ahead_is_neither_fired_nor_skipped_when_the_server_was_down_at_its_time() {
    let fired_ahead = || {
        let mut world = World::put(minutely());
        world.fire(0, true);
        world.fire(HOUR, true);
        set_back(&mut world, 10);
        world.fire(60, true);
        world
    };
    let mut world = fired_ahead();
    world.fire(HOUR + 120, true);
    assert_eq!(world.skipped(), [(120, HOUR - 60, 58, Missed), (HOUR + 60, HOUR + 60, 1, Missed)]);
    assert_eq!(world.nominal(), Some(HOUR + 180));
    // The newest that is due was fired already: the one before it is taken.
    let mut world = fired_ahead();
    world.fire(HOUR + 30, true);
    assert_eq!(world.skipped(), [(120, HOUR - 120, 57, Missed)]);
    assert_eq!(world.records.last().unwrap().nominal_at, at(HOUR - 60));
    // The same for what an edit passes over.
    let mut world = fired_ahead();
    world.until(HOUR + 70);
    world.disable();
    assert_eq!(world.skipped(), [(120, HOUR - 60, 58, Missed), (HOUR + 60, HOUR + 60, 1, Missed)]);
}

#[test]
fn what_was_started_counts_and_the_job_ends_when_the_count_is_used_up() {
    let mut world = World::put(counted(4));
    world.fire(0, true);
    world.fire(DAY, true);
    set_back(&mut world, 30);
    assert_eq!(fire_until(&mut world, HOUR), [60, 120]);
    assert_eq!(world.state(), JobState::Completed);
}

#[test]
fn skips_for_an_overlap_ahead_of_their_time_are_withdrawn() {
    let mut world = World::put(with(minutely(), fixed(1, 300), None));
    world.fire(0, true);
    world.fire(DAY, false);
    world.fire(DAY + 300, true);
    assert_eq!(world.skipped().last(), Some(&(DAY + 60, DAY + 240, 4, Overlap)));
    assert_eq!(world.nominal(), Some(DAY + 300));
    set_back(&mut world, 30);
    assert_eq!(world.skipped(), []);
    assert_eq!(world.nominal(), Some(60));
    assert_eq!(world.next_execution(), Some(60));
}

#[test]
fn a_retry_is_due_its_interval_after_the_corrected_time() {
    // The first attempt was on time, the second one was not.
    let mut world = World::put(with(minutely(), fixed(3, 300), None));
    world.fire(0, false);
    world.fire(DAY, false);
    assert_eq!((world.nominal(), world.due()), (Some(0), Some(DAY + 300)));
    set_back(&mut world, 400);
    assert_eq!((world.nominal(), world.due()), (Some(0), Some(700)));
    world.fire(700, true);
    assert_eq!(
        world.history(Cause::Schedule)[..3],
        [(0, 0, 0, Failed), (0, 0, 1, Failed), (0, 0, 2, Completed)]
    );
}

#[test]
fn a_retry_of_what_was_started_ahead_goes_on() {
    let mut world = World::put(with(minutely(), fixed(1, 300), Some(action())));
    world.fire(0, true);
    world.fire(DAY, false);
    set_back(&mut world, 30);
    assert_eq!((world.nominal(), world.due()), (Some(DAY), Some(330)));
    world.fire(330, false);
    assert_eq!((world.nominal(), world.due()), (Some(DAY), Some(330)), "the error action");
    world.fire(330, true);
    assert_eq!(world.skipped(), [(60, 240, 4, Overlap)]);
    assert_eq!(world.nominal(), Some(300), "the newest that waited");
}

#[test]
fn an_error_action_that_was_to_come_in_the_wrong_time_comes_at_once() {
    let mut world = World::put(with(minutely(), None, Some(action())));
    world.job.spec = with(minutely(), super::world::no_retries(), Some(action())).into();
    world.until(DAY);
    assert!(world.begin());
    world.finish(false);
    assert_eq!(world.due(), Some(DAY));
    set_back(&mut world, 10);
    assert_eq!((world.nominal(), world.due()), (Some(DAY), Some(10)));
}

#[test]
fn a_pending_retry_with_a_long_interval_is_no_sign_of_a_wrong_clock() {
    let mut world = World::put(with(minutely(), fixed(1, DAY), None));
    world.fire(0, false);
    world.patch(|spec| spec.action.retry = fixed(1, 30));
    assert!(Marks::of(&world.job).may_be_ahead(world.now));
    assert!(!world.repair());
    assert_eq!(world.due(), Some(DAY), "though its policy has another interval by now");
}

#[test]
fn what_is_planned_for_the_future_is_no_sign_of_a_wrong_clock() {
    let mut far = World::put(JobSpec { start_at: Some(at(300 * DAY)), ..minutely() });
    assert!(!Marks::of(&far.job).may_be_ahead(far.now) && !far.repair());
    far.disable();
    assert!(!far.repair());
    let mut behind = World::put(minutely());
    behind.fire(0, true);
    behind.until(-50);
    assert!(!behind.repair(), "less than a minute is how clocks are set right");
    let mut asked = World::put(minutely());
    asked.fire(0, true);
    for _ in 0..5 {
        assert!(asked.run());
    }
    assert!(!asked.repair());
}

#[test]
fn a_run_that_was_asked_for_in_the_wrong_time_goes_at_once_and_once() {
    let mut world = World::put(minutely());
    world.fire(0, true);
    world.until(DAY);
    assert!(world.begin());
    assert!(world.run() && world.run());
    world.finish(true);
    assert_eq!(world.entry().map(|entry| entry.cause), Some(Cause::Run));
    set_back(&mut world, 30);
    assert_eq!(world.due(), Some(30));
    world.fire(30, true);
    world.fire(30, true);
    assert_eq!((world.history(Cause::Run).len(), world.nominal()), (2, Some(60)));
    assert!(world.run());
    world.fire(31, true);
    assert_eq!(world.history(Cause::Run).len(), 3, "and a new one is another one");
}

#[test]
fn a_job_that_was_put_in_the_wrong_time_counts_from_the_corrected_one() {
    let hourly = JobSpec { start_at: None, recurrence: Some(Rule::every(1, Frequency::Hour)), ..once() };
    let mut world = World::put_at(5 * DAY, hourly.clone());
    world.fire(5 * DAY, true);
    set_back(&mut world, 100);
    assert_eq!((world.nominal(), world.job.put_at), (Some(100 + HOUR), at(100)));
    // Not begun yet: it runs at once.
    let mut world = World::put_at(5 * DAY, hourly);
    set_back(&mut world, 100);
    assert_eq!((world.nominal(), world.due()), (Some(100), Some(100)));
    // With a start time it keeps its grid.
    let mut world = World::put_at(5 * DAY, JobSpec { start_at: Some(at(7)), ..minutely() });
    set_back(&mut world, 100);
    assert_eq!(world.nominal(), Some(127));
    let mut world = World::put_at(5 * DAY, once());
    set_back(&mut world, 100);
    assert_eq!(world.due(), Some(100));
}

#[test]
fn a_job_that_was_enabled_in_the_wrong_time_runs_from_the_corrected_one() {
    let mut world = World::put(minutely());
    world.fire(0, true);
    world.disable();
    world.until(5 * DAY);
    world.enable();
    assert_eq!(world.nominal(), Some(5 * DAY));
    set_back(&mut world, 70);
    assert_eq!(world.nominal(), Some(120));
}

#[test]
fn a_job_that_is_off_is_repaired_for_when_it_is_switched_on() {
    for edit in [World::disable, World::pause] {
        let mut world = World::put(minutely());
        world.fire(5 * DAY, true);
        edit(&mut world);
        set_back(&mut world, 70);
        assert_eq!(world.entry(), None);
        world.until(130);
        if world.collection_enabled {
            world.enable();
        } else {
            world.resume();
        }
        assert_eq!(world.nominal(), Some(180));
    }
}

#[test]
fn a_job_that_ended_in_the_wrong_time_goes_on_if_its_rule_has_something_left() {
    let mut spec = minutely();
    spec.recurrence.as_mut().unwrap().end_at = Some(at(HOUR));
    let mut world = World::put(spec);
    world.fire(0, true);
    world.fire(5 * DAY, false);
    assert_eq!((world.state(), world.skipped()), (JobState::Faulted, vec![(60, HOUR - 60, 59, Missed)]));
    set_back(&mut world, 70);
    assert_eq!((world.state(), world.nominal()), (JobState::Enabled, Some(120)));
    assert_eq!(fire_until(&mut world, DAY).len(), 58, "all but the one that was started");
    assert_eq!(world.state(), JobState::Completed);
}

#[test]
fn a_job_that_has_nothing_left_stays_ended() {
    let mut world = World::put(JobSpec { start_at: Some(at(DAY)), ..once() });
    world.fire(5 * DAY, true);
    assert_eq!(world.state(), JobState::Completed);
    set_back(&mut world, 70);
    assert_eq!((world.state(), world.entry()), (JobState::Completed, None));
    assert_eq!(world.job.progress.ended_at, Some(at(70)), "it is kept as long as others");
    let mut world = World::put(counted(2));
    world.fire(0, true);
    world.fire(DAY, false);
    set_back(&mut world, 70);
    assert_eq!(world.state(), JobState::Faulted);
}

#[test]
fn what_was_started_ahead_holds_for_the_rule_that_replaces_its_own() {
    let mut world = World::put(minutely());
    world.fire(0, true);
    for minute in 60..=70 {
        world.fire(minute * 60, true);
    }
    set_back(&mut world, 30);
    // Two of those that were started are among the new ones.
    world.patch(|spec| spec.recurrence = Some(Rule::every(7, Frequency::Minute)));
    let fired = fire_until(&mut world, 80 * 60);
    assert_eq!(fired, [7, 14, 21, 28, 35, 42, 49, 56, 77].map(|minute| minute * 60));
    let mut world = World::put(JobSpec { recurrence: Some(Rule::every(1, Frequency::Hour)), ..minutely() });
    world.fire(0, true);
    world.fire(HOUR, true);
    world.fire(2 * HOUR, true);
    set_back(&mut world, 3_500);
    world.patch(|spec| spec.recurrence = Some(Rule::every(30, Frequency::Minute)));
    assert_eq!(fire_until(&mut world, 3 * HOUR), [90, 150, 180].map(|minute| minute * 60));
}

#[test]
fn a_put_begins_anew() {
    let mut world = World::put(minutely());
    world.fire(HOUR, true);
    set_back(&mut world, 30);
    world.put_again(minutely());
    assert_eq!((world.job.progress.ahead.len(), world.nominal()), (0, Some(60)));
    // Its old generation skipped what was never due.
    let mut world = World::put(minutely());
    world.fire(0, true);
    world.until(DAY);
    world.put_again(minutely());
    assert_eq!(world.skipped(), [(60, DAY, 1_440, Missed)]);
    set_back(&mut world, 90);
    assert_eq!((world.skipped(), world.nominal()), (vec![(60, 60, 1, Missed)], Some(120)));
}

#[test]
fn the_next_time_that_is_shown_passes_what_was_started() {
    let mut world = World::put(minutely());
    world.fire(0, true);
    world.fire(120, true);
    world.fire(180, true);
    set_back(&mut world, 10);
    assert_eq!(world.next_execution(), Some(60));
    assert_eq!(next_execution_at(&world.job, true, true), Some(at(240)), "behind the one in flight");
}

#[test]
fn of_too_many_starts_the_rest_stays_as_it_was() {
    let mut world = World::put(minutely());
    world.fire(0, true);
    let starts = super::super::STARTED_MAX as i64 + 500;
    for minute in 1..=starts {
        world.fire(DAY + minute * 60, true);
    }
    set_back(&mut world, 10);
    assert_eq!(world.nominal(), Some(60));
    let last = DAY + starts * 60;
    assert_eq!(world.job.progress.ahead, [OccurrenceRange { first_at: at(DAY + 60), last_at: at(last) }]);
    // Each other one was skipped.
    let mut world = World::put(minutely());
    world.fire(0, true);
    for start in 1..=600 {
        world.fire(DAY + start * 180, true);
    }
    set_back(&mut world, 10);
    let ahead = &world.job.progress.ahead;
    let tail = DAY + 500 * 180;
    assert_eq!(
        (ahead.len(), ahead[499]),
        (500, OccurrenceRange { first_at: at(tail), last_at: at(DAY + 600 * 180) })
    );
    assert!(world.skipped().iter().all(|(first, ..)| *first > tail), "what was skipped before it is to come");
}
