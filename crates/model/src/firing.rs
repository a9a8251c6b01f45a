//! What the runner passes to a dispatcher, and what the dispatcher returns.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::{Action, Cause, JobId, JobKey, JobSpec, hex};

/// One attempt to make.
#[derive(Clone, Debug)]
pub struct Firing {
    /// The job.
    pub job: JobKey,
    /// The display name of the region of the job's collection.
    pub region: Arc<str>,
    /// The job's definition; `step` says which action of its chain is meant.
    pub spec: Arc<JobSpec>,
    /// 0 for the main action, 1 to 5 for error actions.
    pub step: u8,
    /// 0 for the first try of the step.
    pub attempt: u32,
    /// The nominal time of the occurrence.
    pub nominal_at: Timestamp,
    /// The same for each attempt of one step of one occurrence.
    pub tag: ExecutionTag,
    /// A GUID, new for each attempt.
    pub client_request_id: String,
}

impl Firing {
    /// The action to carry out.
    pub fn action(&self) -> Option<&Action> {
        self.spec.action.step(self.step)
    }
}

/// How an attempt ended. There is no other error: whatever goes wrong is a failed attempt with a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the target accepted it.
    pub succeeded: bool,
    /// How it ended, in a word.
    pub kind: OutcomeKind,
    /// The text for the history. It may quote the target's response, so it is never logged.
    pub message: String,
}

/// How an attempt ended, in a word for logs and metrics. It contains nothing that the target or the owner of
/// the job wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutcomeKind {
    /// The target answered with this HTTP status.
    Status(u16),
    /// There was no HTTP status; a fixed word says what happened, such as `Timeout`.
    Word(&'static str),
}

impl fmt::Display for OutcomeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => fmt::Display::fmt(status, f),
            Self::Word(word) => f.pad(word),
        }
    }
}

/// Identifies one step of one occurrence of one job, on every node and after every crash, so that a target can
/// detect duplicates.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExecutionTag([u8; 16]);

impl ExecutionTag {
    /// The tag of a step. It is a function of its arguments alone.
    pub fn of(job: JobId, cause: Cause, nominal_at: Timestamp, step: u8) -> Self {
        let cause = match cause {
            Cause::Schedule => 0,
            Cause::Run => 1,
        };
        let mut hash = Sha256::new();
        hash.update(b"punctual execution tag 1");
        hash.update(job.0.to_be_bytes());
        hash.update([cause, step]);
        hash.update(nominal_at.as_nanosecond().to_be_bytes());
        let mut tag = [0; 16];
        tag.copy_from_slice(&hash.finalize()[..16]);
        Self(tag)
    }
}

impl fmt::Display for ExecutionTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(2 * self.0.len());
        self.0.iter().for_each(|&byte| hex::push(byte, &mut text));
        f.pad(&text)
    }
}

impl fmt::Debug for ExecutionTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
