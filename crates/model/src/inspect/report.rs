//! What an inspection has found, for whoever asks.

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

    /// What it is called if it can't be read.
    pub fn unreadable_kind(&self) -> FindingKind {
        match self {
            Self::Job(_) | Self::Group(_) | Self::Collection(_) | Self::Clock => FindingKind::Unreadable,
            Self::Record(..) => FindingKind::UnreadableRecord,
        }
    }
}

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// Of what.
    pub subject: Subject,
    /// Where the job is, if it is about one and that is known.
    pub key: Option<JobKey>,
    /// With which values.
    pub detail: String,
    /// When it was found, by the schedule's clock.
    pub found_at: Timestamp,
}

/// How many findings of a kind there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindCount {
    /// The kind.
    pub kind: FindingKind,
    /// How many hold now.
    pub open: u64,
    /// How many there were since the start.
    pub total: u64,
}

/// An entry that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Whose.
    pub job: JobId,
    /// Since when.
    pub due_at: Timestamp,
}

/// How many jobs there are now, and which have failed for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Census {
    /// How many jobs.
    pub job_count: u64,
    /// How many of them are faulted; counted as far as is said by who counts.
    pub faulted_count: u64,
    /// Those that were the last to become so, the latest first.
    pub faulted: Vec<FaultedJob>,
}

/// A job that has failed for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultedJob {
    /// Which.
    pub job: JobId,
    /// Where it is.
    pub key: JobKey,
    /// Since when.
    pub ended_at: Timestamp,
}

/// A walk over all jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// When it ended, by the schedule's clock.
    pub ended_at: Timestamp,
    /// How long it took, really.
    pub took: Duration,
    /// How many jobs there were.
    pub job_count: u64,
}

/// What an inspection knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Whether somebody looks at all.
    pub enabled: bool,
    /// The version of the store's schema, if it is known.
    pub schema_version: Option<u32>,
    /// What does not hold now; not more than are kept.
    pub findings: Vec<Finding>,
    /// Of each kind, how many; more than are listed where very many are found.
    pub counts: Vec<KindCount>,
    /// The entry that has been due for longest and that nobody has claimed, when it was last looked.
    pub oldest_due: Option<Due>,
    /// How far the walk over all jobs has come, from 0 to 1; none if none is under way.
    pub progress: Option<f64>,
    /// The last walk that came to its end.
    pub last_pass: Option<Pass>,
    /// How many did.
    pub pass_count: u64,
    /// Why the last look at the store failed, if it did.
    pub trouble: Option<String>,
    /// Why nothing can be written, if that is so now.
    pub outage: Option<String>,
    /// What is wrong with the store as a whole, a sentence each that says what to do.
    pub problems: Vec<String>,
}

/// Tells what it knows.
pub trait Inspection: Send + Sync {
    /// What is known now. Costs a copy of what is kept.
    fn report(&self) -> Report;

    /// Somebody has met something that can't be read: it is looked at soon.
    fn suspect(&self, subject: Subject);
}
