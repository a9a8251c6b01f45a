//! Hears what the runner does. Logs are made of it, and whatever else wants to know: metrics, live views.
//!
//! ```text
//!   Claimed ─┬─> Begun ──> Fired ──> Ended ─┬─> Settled (and Skipped, for each skip that was recorded)
//!            ├─────────────────────────────┴─> Lost
//!            └───────────────────────────────> GivenBack
//! ```
//!
//! Whatever is claimed ends in exactly one of settled, lost and given back.

use jiff::SignedDuration;
use punctual_model::{Firing, Job, JobId, Outcome, Skip};
use punctual_store::{Claim, Fence};

/// Hears what the runner does. It is called on the way of each firing: it must not wait for anything.
pub trait Observer: Send + Sync {
    /// Hears of something that has just happened.
    fn hear(&self, event: &Event<'_>);
}

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// An entry was claimed.
    Claimed(&'a Claim),
    /// A claim was confirmed: its job is in flight.
    Begun(&'a Claim),
    /// An attempt was handed to the dispatcher.
    Fired(Attempting<'a>),
    /// An attempt has ended.
    Ended {
        /// Which.
        attempt: Attempting<'a>,
        /// How.
        outcome: &'a Outcome,
        /// How long it took, by the schedule's clock.
        took: SignedDuration,
    },
    /// What became of a claim is recorded.
    Settled {
        /// The claim.
        fence: Fence,
        /// The job.
        job: JobId,
    },
    /// That some occurrences were skipped is recorded.
    Skipped(&'a Skip),
    /// A claim was given up unsettled: its entry can be claimed again.
    GivenBack {
        /// The claim.
        fence: Fence,
        /// The job.
        job: JobId,
    },
    /// A claim does not hold any more.
    Lost {
        /// The claim.
        fence: Fence,
        /// The job.
        job: JobId,
        /// Why.
        loss: Loss,
    },
}

/// An attempt.
#[derive(Clone, Copy, Debug)]
pub struct Attempting<'a> {
    /// The job as it is fired.
    pub job: &'a Job,
    /// What was handed to the dispatcher.
    pub firing: &'a Firing,
    /// How much later than it was due it began, by the schedule's clock.
    pub lateness: SignedDuration,
}

/// Why a claim does not hold any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// An edit took it back before it had begun.
    TakenBack,
    /// Its job was deleted while it was in flight.
    Deleted,
    /// Somebody else has settled it, or will.
    Fenced,
}
