//! Histories that once came to something that must not be, and some seeds.
//!
//! Whatever the simulator finds stays here for ever, as the short history that showed it: `scripts/sim`
//! prints it as a test.

mod edit;
mod node;
mod run;
mod seeds;

use punctual_sim::{Backing, Op, PlayResult, play_on_each};

/// A history must be right on all stores, which must agree.
fn check(ops: &[Op]) {
    let backings = [Backing::Memory, Backing::Leased, Backing::Sqlite];
    if let PlayResult::Wrong { backing, at, problems } = play_on_each(ops, &backings) {
        panic!("wrong on {backing:?} after operation {at}:\n{}", problems.join("\n"));
    }
}
