//! Decisions: what a change, a run or an outcome makes of a job.
//!
//! Each is a pure function of the present, and nothing else decides. `edit` applies [`put`], [`patch`], [`switch`]
//! and [`run`], and writes the [`skips_of_edit`] with them; the runner applies [`catch_up`] and [`settle()`], and
//! [`repair()`] after the clock was set back. Before a change is applied, [`forbidden`] and [`obstacles`] give the
//! reasons why plans and quotas forbid it.
//!
//! The agenda of a job, as one entry:
//!
//! ```text
//!   put ────> first occurrence ──catch_up──> newest due ──settle──> retry, error action (same occurrence)
//!                  ^                                        └─────> the next: newest due, a waiting run,
//!                  └─────────────────────────────────────────────── the next future occurrence, or the end
//! ```

mod ahead;
mod edit;
mod next;
mod quota;
mod repair;
mod settle;
#[cfg(test)]
mod tests;
mod upcoming;

pub(crate) use ahead::pass as pass_ahead;
pub use edit::{EditContext, RUNS_WAITING_MAX, patch, pause, put, resume, run, skips_of_edit, switch};
pub use next::{catch_up, next_execution_at, occurrence_after};
pub use quota::{Forbidden, Obstacle, Pace, forbidden, obstacles, too_often};
pub use repair::{AHEAD_ALLOWANCE, Ahead, Marks, Repair, STARTED_MAX, Withdrawal, repair};
pub use settle::{Attempt, SettleDecision, settle};
pub use upcoming::{Difference, Instants, Upcoming, difference, upcoming};
