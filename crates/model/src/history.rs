//! The past of a job: a record for each attempt, and a skip for each range of occurrences that did not start.

use jiff::Timestamp;

use crate::{Cause, JobId};

/// One attempt, or one occurrence that had to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The job.
    pub job: JobId,
    /// The generation of the job that it belongs to.
    pub generation: u32,
    /// The instant that the rule yielded, or when the run was asked for.
    pub nominal_at: Timestamp,
    /// Whether the schedule or a caller caused it.
    pub cause: Cause,
    /// 0 for the main action, 1 to 5 for error actions.
    pub step: u8,
    /// 0 for the first try of a step.
    pub attempt: u32,
    /// The ordinal of the occurrence in its generation, from 1.
    pub ordinal: u32,
    /// When the attempt began; of a postponed occurrence, when it was due.
    pub started_at: Timestamp,
    /// When it ended; of a postponed occurrence, when it was released.
    pub ended_at: Timestamp,
    /// How it ended.
    pub status: RecordStatus,
    /// What the target said.
    pub message: String,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordStatus {
    /// It succeeded.
    Completed,
    /// It failed.
    Failed,
    /// No attempt: the occurrence waited for another one of its job.
    Postponed,
}

/// A range of consecutive occurrences that were due and did not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// The job.
    pub job: JobId,
    /// The generation of the job whose rule yielded them.
    pub generation: u32,
    /// The first of them.
    pub first_at: Timestamp,
    /// The last of them; the same if there is one.
    pub last_at: Timestamp,
    /// How many.
    pub count: u64,
    /// Why.
    pub reason: SkipReason,
    /// When that was decided.
    pub decided_at: Timestamp,
}

/// That a run repeats a past occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rerun {
    /// The instant of the run.
    pub run_at: Timestamp,
    /// When the occurrence was due that it repeats.
    pub of_at: Timestamp,
}

/// Why an occurrence did not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SkipReason {
    /// The one before was still running or retrying.
    Overlap,
    /// The server was down.
    Missed,
}
