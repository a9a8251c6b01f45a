//! Edits in the middle of things.

use punctual_sim::words::*;

use crate::check;

const EVERY_HOUR: Sketch =
    Sketch { start: None, every: Some((1, Hour)), count: None, end: None, on: true, retry: Never, errors: 0 };

#[test]
fn a_put_leaves_a_trace_of_what_was_due_before_it() {
    check(&[Put(0, EVERY_HOUR), Advance(7_200_000), Put(0, Sketch { on: false, ..EVERY_HOUR })]);
}

#[test]
fn a_new_schedule_leaves_a_trace_of_what_was_due_by_the_old_one() {
    check(&[Put(0, Sketch { every: None, ..EVERY_HOUR }), Patch(0, Every(Some((3, Hour))))]);
}

#[test]
fn a_job_that_runs_once_may_be_switched_off_right_after_it_was_switched_on() {
    let once = Sketch { start: Some(-1284), every: None, on: false, ..EVERY_HOUR };
    check(&[Put(2, once), Advance(180_000), Enable(2), CollectionOff(0)]);
}

#[test]
fn an_error_action_that_is_taken_away_is_recorded_and_not_retried() {
    let job = Sketch { start: Some(-2), every: None, retry: Fixed(3600, 1), errors: 1, ..EVERY_HOUR };
    let ops = [Put(0, job), Answer(0, Failure(0), 3), Tick(0), Advance(10_800_000), TickTo(0, Settled)];
    check(&[&ops[..], &[Patch(0, Errors(0))]].concat());
}

#[test]
fn a_run_in_flight_during_a_put_is_run_once() {
    check(&[Put(0, EVERY_HOUR), Tick(0), Run(0), TickTo(0, Fired), Put(0, EVERY_HOUR), Resume(0), Tick(0)]);
}

#[test]
fn a_run_in_flight_during_a_disable_is_run_once() {
    let ops = [Put(0, EVERY_HOUR), Tick(0), Run(0), TickTo(0, Fired), Disable(0), Resume(0), Tick(0)];
    check(&[&ops[..], &[Enable(0)]].concat());
}

#[test]
fn a_claim_that_was_taken_away_settles_nothing() {
    check(&[Put(0, EVERY_HOUR), TickTo(0, Fired), Expire(0), Tick(1), Resume(0), Tick(0)]);
}

#[test]
fn what_was_fired_ahead_of_its_time_is_remembered_by_a_rule_that_comes_back() {
    let job = Sketch { every: Some((10, Minute)), end: Some(15_591_859), retry: Default, ..EVERY_HOUR };
    let wait = [1_728_000_000, 345_600_000, 345_600_000, 4_320_000_000, 4_320_000_000].map(Advance);
    let ahead = [Answer(1, Hang, 5), Advance(4_320_000_000), Put(1, job), Jump(259_200_000), Tick(0)];
    let back = [
        Patch(1, Start(Some(15_194_472))),
        Jump(-259_200_000),
        Repair(0),
        Patch(1, Start(None)),
        Advance(1_728_000_000),
    ];
    check(&[&wait[..], &ahead[..], &back[..]].concat());
}
