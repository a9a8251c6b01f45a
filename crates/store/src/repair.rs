//! Jobs that have come further than the clock, because it was ahead and was set back: found, and put back.
//!
//! What is made of such a job is decided by `punctual_model::decide::repair` on what is read here, and written if
//! the job was not written meanwhile. So a repair may be repeated, and may end anywhere: what is not repaired is
//! found again.

use jiff::Timestamp;
use punctual_model::JobId;
use punctual_model::decide::Ahead;

/// Which jobs to look at.
#[derive(Clone, Copy, Debug)]
pub struct AheadAsk {
    /// Those behind this one, by id; all if none.
    pub after: Option<JobId>,
    /// Looks at not more jobs than this, whether they are ahead or not.
    pub job_limit: usize,
    /// Finds not more than this.
    pub found_limit: usize,
    /// What is later than this lies in the future.
    pub now: Timestamp,
}

impl AheadAsk {
    /// One job.
    pub fn one(job: JobId, now: Timestamp) -> Self {
        Self { after: Some(JobId(job.0.saturating_sub(1))), job_limit: 1, found_limit: 1, now }
    }
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct AheadPage {
    /// Jobs that may have come further than the clock, with what is needed to decide that.
    pub found: Vec<Ahead>,
    /// The last job that was looked at, where to go on; none if there is none behind it.
    pub last: Option<JobId>,
}

/// What the store did with a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repaired {
    /// It is durable. A claim of the job that was not begun is taken back.
    Written,
    /// The job is in flight: nothing was written. Look again when it is settled.
    InFlight,
    /// The job was written or deleted since it was read: nothing was written. Look again.
    Stale,
}
