//! Jobs that are ahead of the clock, because it was ahead and was set back: found and repaired.
//!
//! `punctual_model::decide::repair` decides with what is read here, and the result is written if the job was
//! not written meanwhile. So a repair may be repeated and interrupted anywhere: what is not repaired is found
//! again.

use jiff::Timestamp;
use punctual_model::JobId;
use punctual_model::decide::Ahead;

/// Which jobs to examine.
#[derive(Clone, Copy, Debug)]
pub struct AheadAsk {
    /// After this job, by id; all if none.
    pub after: Option<JobId>,
    /// The most jobs to examine, whether they are ahead or not.
    pub job_limit: usize,
    /// The most jobs to find.
    pub found_limit: usize,
    /// What is later than this is in the future.
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
    /// Jobs that may be ahead of the clock, with what is needed to decide that.
    pub found: Vec<Ahead>,
    /// The last job that was examined, after which the next page begins; none at the end.
    pub last: Option<JobId>,
}

/// What the store did with a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repaired {
    /// It is durable. A claim of the job that was not begun is taken back.
    Written,
    /// The job is in flight: nothing was written. Try again when it is settled.
    InFlight,
    /// The job was written or deleted since it was read: nothing was written. Try again.
    Stale,
}
