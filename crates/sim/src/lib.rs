//! The simulator: plays histories full of faults against the runner, and judges the outcome of every
//! occurrence.
//!
//! A world has some nodes, each with the real runner, over one real store, with a clock that the world moves, a
//! receiver that answers as told, and faults between all of them. A history is a list of [`Op`]s; a seed makes
//! one. While it is played, an oracle keeps what must be, and after each operation the store is compared with
//! it. A history that fails is shrunk and printed as a test.
//!
//! See `docs/reference/simulation.md` for what is simulated and what is not.

mod caller;
mod clock;
pub mod evidence;
mod gate;
mod generate;
pub mod op;
mod oracle;
mod receiver;
pub mod rng;
mod shrink;
mod watched;
mod world;

pub use generate::history;
pub use op::{Op, words};
pub use oracle::{COVERED_EVENTS, Coverage};
pub use shrink::{PlayResult, play_on_each, print_test, shrink};
pub use world::{Backing, COLLECTIONS, Ending, Failure, JOBS, JobEnding, NODES, play};
