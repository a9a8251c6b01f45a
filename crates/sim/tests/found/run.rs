//! Runs that are asked for where clocks can't be compared.

use punctual_sim::words::*;

use crate::check;

const EVERY_HOUR: Sketch =
    Sketch { start: None, every: Some((1, Hour)), count: None, end: None, on: true, retry: Never, errors: 0 };

#[test]
fn two_runs_of_one_instant_are_two_though_a_clock_is_ahead() {
    check(&[Put(0, EVERY_HOUR), Tick(0), Skew(1, 5_000), Run(0), Tick(1), Run(0), Tick(1), Tick(0)]);
}

#[test]
fn a_run_is_another_one_though_the_clock_was_set_back_to_the_one_before() {
    let ops = [Put(0, EVERY_HOUR), Tick(0), Advance(60_000), Run(0), Tick(0), Advance(2_000), Disable(0)];
    check(&[&ops[..], &[Jump(-2_005), Run(0), Tick(0), Run(0), Tick(0)]].concat());
}

#[test]
fn what_was_released_is_not_released_again_though_a_clock_is_behind() {
    let ops =
        [Put(0, EVERY_HOUR), Skew(0, 4_000), Answer(0, Success(50_000), 1), Tick(0), Advance(3_546_000)];
    check(&[&ops[..], &[Run(0), Tick(0), Run(0), Tick(0), Tick(0)]].concat());
}

#[test]
fn a_settlement_that_leaves_no_entry_wakes_nobody_on_either_store() {
    let soon = Sketch { start: Some(98), every: Some((2, Hour)), ..EVERY_HOUR };
    let over = Sketch { start: Some(-688_846), every: Some((2, Week)), end: Some(457), ..EVERY_HOUR };
    let ops = [Put(0, soon), Put(3, over), Run(3), TickTo(1, Settled), Advance(10_800_000), Resume(1)];
    check(&[&ops[..], &[Advance(1_200_000)]].concat());
}
