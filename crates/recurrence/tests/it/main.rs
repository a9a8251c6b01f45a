//! What the crate promises, tested from outside: one binary, so that it is linked once.

#![expect(clippy::unwrap_used, reason = "a test that can't be set up should fail")]

mod case;
mod counting;
mod documented;
mod edges;
mod generated;
mod limits;
mod never;
mod oracle;
mod properties;
mod transitions;
mod vectors;
mod wall_clock;

use punctual_recurrence::{Rule, Start, Timetable};

/// The timetable of a rule that is right.
fn timetable(rule: &Rule, start: Start) -> Timetable {
    rule.check().unwrap_or_else(|problems| panic!("{problems:?} in {rule:?}")).timetable(start)
}
