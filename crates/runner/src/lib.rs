//! The runner: claim -> fire -> settle -> record.
//!
//! ```text
//!              ┌──────────────────── slots ────────────────────┐
//!   agenda ──claim──> held by the timer ──due──> fire ──> recorder ──settle in batches──> store
//!     ^                                                                                     │
//!     └─────────────────────────── woken by changes ────────────────────────────────────────┘
//! ```
//!
//! - *Claim*: entries due within a look-ahead of about a second, at most as many as there are slots. Entries of
//!   a target without a free slot are left out, so that it does not starve others.
//! - *Hold*: a thread of its own holds each claim until its exact time, so that firing is a timer and not a
//!   poll. Waits are bounded and compared with the clock, so that a step of the clock makes nothing early, and
//!   delays nothing for long.
//! - *Fire*: the claim is confirmed right before, so that an acknowledged edit holds.
//! - *Settle*: decided by `punctual_model::decide::settle`, written in batches, decided again if the job was
//!   edited meanwhile.
//!
//! An [`Observer`] is told what happens; the [`Log`] is one. Besides, the [`Inspector`] checks the invariants.
//!
//! The runner does not know what an action is: it passes a firing to a [`Dispatcher`]. A state machine that
//! knows no task and no thread (`machine.rs`) decides what it does next. Each lane of it (claimer, timer,
//! launcher, attempts, recorder) is driven by a task or a thread of the running server, or step by step by
//! [`Steps`], for tests and the simulator. A [`Supervisor`] notices a task that ends although it must go on.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that can't set up should stop"))]

mod attempt;
mod claimer;
mod clock_findings;
mod clock_watch;
mod context;
mod dispatcher;
mod hold;
mod housekeeping;
mod inspector;
mod lane;
mod launcher;
mod log;
mod machine;
mod observer;
mod permission;
mod recorder;
mod repair;
mod runner;
mod settings;
mod slots;
mod status;
mod steps;
mod supervisor;
mod timer;

pub use dispatcher::Dispatcher;
pub use inspector::{Inspecting, Inspector, InspectorSettings};
pub use log::Log;
pub use observer::{Attempting, Event, Loss, Observer};
pub use repair::RepairReport;
pub use runner::{Runner, Running};
pub use settings::Settings;
pub use status::{RunnerLoad, RunnerStatus};
pub use steps::{Report, Steps};
pub use supervisor::{Failure, Supervisor, Tasks};
