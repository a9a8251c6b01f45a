//! The runner on the memory store, with a clock that a test sets and a target that does what a test says.

#![expect(clippy::unwrap_used, reason = "a test that can't set up should stop")]

mod captured;
mod claims;
mod clock;
mod clock_steps;
mod housekeeping;
mod inspector;
mod leases;
mod log;
mod observer;
mod slots;
mod stop;
mod supervision;
mod ticks;
mod trouble;
mod world;
