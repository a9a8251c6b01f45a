//! Observers are told what the runner does. Logs and metrics are made from it; live views can be.
//!
//! ```text
//!   Claimed ─┬─> Begun ──> Fired ──> Ended ─┬─> Settled (and Skipped, for each skip that was recorded)
//!            ├─────────────────────────────┴─> Lost
//!            └───────────────────────────────> GivenBack
//! ```
//!
//! Every claim ends in exactly one of settled, lost and given back. Attempts are recorded in batches, each of which is an
//! event, too.

use std::time::Duration;

use jiff::SignedDuration;
use punctual_model::{Firing, Job, JobId, Outcome, Skip};
use punctual_store::{Claim, Fence};

/// Is told what the runner does. It is called in the path of each firing, so it must not block.
pub trait Observer: Send + Sync {
    /// Something has just happened.
    fn hear(&self, event: &Event<'_>);
}

/// An event of the runner.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// An entry was claimed.
    Claimed(&'a Claim),
    /// A claim was confirmed: its job is in flight.
    Begun(&'a Claim),
    /// An attempt was passed to the dispatcher.
    Fired(Attempting<'a>),
    /// An attempt has ended.
    Ended {
        /// The attempt.
        attempt: Attempting<'a>,
        /// How it ended.
        outcome: &'a Outcome,
        /// How long it took, by the schedule's clock.
        took: SignedDuration,
    },
    /// The outcome of a claim is recorded.
    Settled {
        /// The claim.
        fence: Fence,
        /// The job.
        job: JobId,
    },
    /// Skipped occurrences are recorded.
    Skipped(&'a Skip),
    /// A claim was given back unsettled: its entry can be claimed again.
    GivenBack {
        /// The claim.
        fence: Fence,
        /// The job.
        job: JobId,
    },
    /// A claim was lost.
    Lost {
        /// The claim.
        fence: Fence,
        /// The job.
        job: JobId,
        /// The reason.
        loss: Loss,
    },
    /// The store has answered a batch of attempts to record.
    Batch {
        /// How many attempts.
        size: usize,
        /// How long it took, in real time.
        took: Duration,
        /// Whether the store has taken them; if not, they are offered again.
        recorded: bool,
    },
}

/// An attempt.
#[derive(Clone, Copy, Debug)]
pub struct Attempting<'a> {
    /// The job as it is fired.
    pub job: &'a Job,
    /// What was passed to the dispatcher.
    pub firing: &'a Firing,
    /// How much later than due it began, by the schedule's clock.
    pub lateness: SignedDuration,
}

/// Why a claim was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// An edit took it back before it was begun.
    TakenBack,
    /// Its job was deleted while it was in flight.
    Deleted,
    /// It was settled, or was claimed again by somebody else.
    Fenced,
}
