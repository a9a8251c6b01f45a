//! Nodes that stay somewhere for long, or lose their lease.

use punctual_sim::words::*;

use crate::check;

const EVERY_HOUR: Sketch =
    Sketch { start: None, every: Some((1, Hour)), count: None, end: None, on: true, retry: Never, errors: 0 };

#[test]
fn what_a_node_may_not_fire_any_more_it_claims_anew_before_it_could_give_it_back() {
    check(&[Put(0, EVERY_HOUR), Fault(Release, Before, Busy), TickTo(2, Begun), Expire(2), Tick(2)]);
}

#[test]
fn what_came_due_while_a_node_stayed_in_a_settlement_is_fired_when_it_goes_on() {
    let later = Sketch { start: Some(98), ..EVERY_HOUR };
    let ended = Sketch { start: Some(-688_846), every: Some((2, Week)), end: Some(457), ..EVERY_HOUR };
    let ops = [Put(0, later), Put(3, ended), Run(3), TickTo(1, Settled), Advance(10_800_000), Resume(1)];
    check(&[&ops[..], &[Advance(1_200_000)]].concat());
}

#[test]
fn a_node_that_panics_while_it_stops_leaves_nothing_claimed() {
    let job = Sketch {
        start: None,
        every: Some((2, Hour)),
        count: Some(4),
        end: None,
        on: true,
        retry: Never,
        errors: 2,
    };
    let ops = [Fault(Settle, After, Panic), Skew(0, -874), Put(0, job), Advance(259_200_000)];
    check(&[&ops[..], &[TickTo(0, Queued), Stop(0)]].concat());
}
