//! The agenda: claim -> begin -> settle.
//!
//! ```text
//!   put_job ──> entry ──claim──> held ──begin──> in flight ──settle──> next entry, or none
//!                 ^               │ edit, delete, disable: taken back      │
//!                 └───release─────┴───────────release, lease lost──────────┘
//! ```
//!
//! A claim belongs to one job and has a fence, a number that is never used twice. A settlement shows the fence;
//! if the fence no longer holds, it is answered with [`Settled::Lost`] and writes nothing. A claimed job is
//! invisible to other claims, so a job never has two occurrences in flight, even if it is edited meanwhile.
//!
//! A claim is good while the lease is of the node that made it (see [`Roster`](crate::Roster)); what that node does
//! with it afterwards has no effect.
//!
//! A store that is owned by one process keeps claims in memory: they cost no write, and a crash releases all of
//! them, so that what was in flight is repeated with the same execution tag.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::decide::Repair;
use punctual_model::{Job, JobId, Record, Scope, Skip, Sku};
use tokio::sync::watch;

use crate::{AheadAsk, AheadPage, Repaired, Trouble};

/// Hands out due entries and records what became of them. Each method is one transaction.
#[async_trait]
pub trait Agenda: Send + Sync {
    /// Claims entries due at or before `until` of jobs that are not claimed, earliest first, at most `limit`.
    /// Entries whose target is in `full_targets` are left alone.
    async fn claim(&self, ask: &ClaimAsk) -> Result<Vec<Claim>, Trouble>;

    /// Asks of each claim whether it still holds, and marks those that do as in flight. To be called
    /// right before firing: `false` means that the job was edited, disabled or deleted, or that the lease has
    /// ended; the claim is gone, and nothing may be fired. Where leases end, `true` is good for
    /// [`BEGUN_IS_GOOD_FOR`] from the call; to be asked again for what is not sent by then, and then an edit since the
    /// first time is a `false`, too.
    async fn begin(&self, fences: &[Fence]) -> Result<Vec<bool>, Trouble>;

    /// Records what became of claims, all in one transaction, and says for each what happened, in the order of
    /// the settlements. On trouble nothing is written for any of them.
    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>, Trouble>;

    /// Gives claims back unsettled; their entries can be claimed again.
    async fn release(&self, fences: &[Fence]) -> Result<(), Trouble>;

    /// When the earliest unclaimed entry is due whose target is not in `full_targets`.
    async fn next_due(&self, full_targets: &[String]) -> Result<Option<Timestamp>, Trouble>;

    /// Jobs of the given ids that are in flight now. Of other nodes, those that are claimed and due.
    async fn in_flight(&self, jobs: &[JobId]) -> Result<Vec<JobId>, Trouble>;

    /// A page of jobs that may be ahead of the clock, by id. A page ends at one of its limits, or where its
    /// jobs have [`STARTED_MAX`](punctual_model::decide::STARTED_MAX) starts in the future. A job that can't be
    /// read is left out.
    async fn ahead(&self, ask: &AheadAsk) -> Result<AheadPage, Trouble>;

    /// Writes repairs of jobs that are ahead of the clock, all in one transaction, and says for each what
    /// happened, in the same order. Of a job only its state, the time of the PUT, its progress and its skips
    /// are written.
    async fn repair(&self, repairs: Vec<Repair>) -> Result<Vec<Repaired>, Trouble>;

    /// How many jobs of a scope have an entry that is due in `from..until`; of more than `limit` that are due then in any
    /// scope, the earliest are looked at.
    async fn due_count(&self, ask: &DueCountAsk) -> Result<usize, Trouble>;

    /// Changes whenever an entry is added or moved. It has no content: a receiver asks again, and a lost
    /// wake-up costs latency, never correctness.
    fn changes(&self) -> watch::Receiver<u64>;
}

/// How long after [`begin`](Agenda::begin) was called something may be sent, where leases end: others may have it a
/// second after the lease has.
pub const BEGUN_IS_GOOD_FOR: Duration = Duration::from_millis(500);

/// What to claim.
#[derive(Clone, Debug)]
pub struct ClaimAsk {
    /// Due at or before this instant.
    pub until: Timestamp,
    /// The most claims to make.
    pub limit: usize,
    /// Targets without a free slot; see [`target_of`].
    pub full_targets: Vec<String>,
}

/// Which entries to count.
#[derive(Clone, Debug)]
pub struct DueCountAsk {
    /// Of jobs in this scope.
    pub scope: Scope,
    /// Due at or after this instant.
    pub from: Timestamp,
    /// Due before this instant.
    pub until: Timestamp,
    /// The most entries to look at.
    pub limit: usize,
}

/// A fencing token: identifies one claim, and is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub u64);

/// A claimed entry, with what is needed to fire it.
#[derive(Clone, Debug)]
pub struct Claim {
    /// To be shown with the settlement.
    pub fence: Fence,
    /// The job when it was claimed; its `progress.entry` is the claimed entry.
    pub job: Job,
    /// The region of its collection.
    pub region: Arc<str>,
    /// The plan of its collection.
    pub sku: Sku,
    /// Its target, see [`target_of`].
    pub target: Arc<str>,
}

/// What became of a claim: decided by the caller, applied by the store.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// The claim.
    pub fence: Fence,
    /// The job with its new state, counters and progress; its revision is the one that this was decided on. Its
    /// definition and key are not written.
    pub job: Job,
    /// Records to append.
    pub records: Vec<Record>,
    /// Occurrences that were skipped.
    pub skips: Vec<Skip>,
}

/// What the store did with a settlement.
#[derive(Clone, Debug)]
pub enum Settled {
    /// It is durable.
    Recorded,
    /// The job was edited since it was claimed: nothing was written, the claim still holds. Decide again with
    /// this job and its plan.
    Changed(Box<Job>, Sku),
    /// The job was deleted: nothing was written, the claim is gone.
    Gone,
    /// The fence no longer holds: the claim was settled, or was made again by somebody else.
    Lost,
}

/// The target of an action, for the limit of slots per target: the lower-case host and port of an HTTP action,
/// the account of a storage queue, the namespace of a Service Bus.
pub fn target_of(job: &Job) -> String {
    crate::target::of_job(job)
}
