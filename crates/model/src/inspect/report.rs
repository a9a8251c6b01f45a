//! What an inspection has found.

use std::time::Duration;

use jiff::Timestamp;

use super::FindingKind;
use crate::{CollectionKey, GroupKey, JobId, JobKey};

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A job.
    Job(JobId),
    /// A resource group.
    Group(GroupKey),
    /// A collection.
    Collection(CollectionKey),
    /// A record of a job's history, by its sequence number.
    Record(JobId, i64),
    /// The clock of the machine.
    Clock,
}

impl Subject {
    /// The job that it is, or is a part of.
    pub fn job(&self) -> Option<JobId> {
        match self {
            Self::Job(job) | Self::Record(job, _) => Some(*job),
            Self::Group(_) | Self::Collection(_) | Self::Clock => None,
        }
    }

    /// The kind of finding if it can't be read.
    pub fn unreadable_kind(&self) -> FindingKind {
        match self {
            Self::Job(_) | Self::Group(_) | Self::Collection(_) | Self::Clock => FindingKind::Unreadable,
            Self::Record(..) => FindingKind::UnreadableRecord,
        }
    }
}

/// A violated invariant of one subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// What it is about.
    pub subject: Subject,
    /// The key of the job, if it is about one and the key is known.
    pub key: Option<JobKey>,
    /// The values that violate it.
    pub detail: String,
    /// When it was found, by the schedule's clock.
    pub found_at: Timestamp,
}

/// How many findings of a kind there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindCount {
    /// The kind.
    pub kind: FindingKind,
    /// How many are open now.
    pub open: u64,
    /// How many there were since the start.
    pub total: u64,
}

/// An entry that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueEntry {
    /// Whose.
    pub job: JobId,
    /// Since when.
    pub due_at: Timestamp,
}

/// How many jobs there are, and which have failed for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Census {
    /// How many jobs.
    pub job_count: u64,
    /// How many of them are faulted, up to the caller's limit.
    pub faulted_count: u64,
    /// The latest to become faulted, newest first.
    pub faulted: Vec<FaultedJob>,
}

/// A job that has failed for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultedJob {
    /// The job.
    pub job: JobId,
    /// Its key.
    pub key: JobKey,
    /// Since when.
    pub ended_at: Timestamp,
}

/// A pass of the inspector over all jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// When it ended, by the schedule's clock.
    pub ended_at: Timestamp,
    /// How long it took, in real time.
    pub took: Duration,
    /// How many jobs there were.
    pub job_count: u64,
}

/// What an inspection knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Whether the inspector runs at all.
    pub enabled: bool,
    /// The version of the store's schema, if it is known.
    pub schema_version: Option<u32>,
    /// The open findings; at most as many as are kept.
    pub findings: Vec<Finding>,
    /// How many findings there are of each kind, including those that are not listed.
    pub counts: Vec<KindCount>,
    /// The unclaimed entry that has been due for longest, at the last look.
    pub oldest_due: Option<DueEntry>,
    /// How many unclaimed entries were due at the last look, up to the most that it reads.
    pub due_count: u64,
    /// When that look was, by the schedule's clock.
    pub looked_at: Option<Timestamp>,
    /// The progress of the pass under way, from 0 to 1; none if none is.
    pub progress: Option<f64>,
    /// The last complete pass.
    pub last_pass: Option<Pass>,
    /// The number of complete passes.
    pub pass_count: u64,
    /// Why the last look at the store failed, if it did.
    pub trouble: Option<String>,
    /// Which task of the server has ended although it must go on, and why; the server stops then.
    pub failure: Option<String>,
    /// Why the store can't be written now, if it can't.
    pub outage: Option<String>,
    /// What is wrong with the store as a whole: sentences that say what to do.
    pub problems: Vec<String>,
}

/// Provides the report of an inspection.
pub trait Inspection: Send + Sync {
    /// The report now. Costs a copy of it.
    fn report(&self) -> Report;

    /// Which task of the server has ended although it must go on, and why. Costs next to nothing.
    fn failure(&self) -> Option<String>;

    /// Reports something that can't be read, so that the inspector looks at it soon.
    fn suspect(&self, subject: Subject);
}
