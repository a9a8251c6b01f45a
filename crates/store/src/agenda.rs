//! What is to come: claim -> begin -> settle.
//!
//! ```text
//!   put_job ──> entry ──claim──> held ──begin──> in flight ──settle──> next entry, or none
//!                 ^               │ edit, delete, disable: taken back      │
//!                 └───release─────┴───────────release, lease lost──────────┘
//! ```
//!
//! A claim belongs to one job and carries a fence, a number that is never used twice. Whoever settles
//! shows it; a settlement whose fence no longer holds is answered [`Settled::Lost`] and writes nothing.
//! What is claimed is invisible to other claims, so a job never has two occurrences in flight, even if
//! it is edited meanwhile.
//!
//! A claim is good while the lease is of the node that made it (see [`Roster`](crate::Roster)); what that node does
//! with it afterwards has no effect.
//!
//! A store that one process owns keeps claims in memory: they cost no write, and a crash releases them
//! all, so that what was in flight is repeated with the same execution tag.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::decide::Repair;
use punctual_model::{Job, JobId, Record, Skip, Sku};
use tokio::sync::watch;

use crate::{AheadAsk, AheadPage, Repaired, Trouble};

/// Hands out what is due and records what became of it. Each method is one transaction.
#[async_trait]
pub trait Agenda: Send + Sync {
    /// Claims entries due at or before `until`, earliest first, at most `limit`, of jobs that are not
    /// claimed yet. An entry whose target is in `passed_over` stays where it is.
    async fn claim(&self, ask: &ClaimAsk) -> Result<Vec<Claim>, Trouble>;

    /// Asks of each claim whether it still holds, and marks those that do as in flight. To be called
    /// right before firing: `false` means that the job was edited, disabled or deleted, or that the lease has
    /// ended; the claim is gone, and nothing may be fired. Where leases end, `true` is good for
    /// [`BEGUN_IS_GOOD_FOR`] from the call; to be asked again for what is not sent by then.
    async fn begin(&self, fences: &[Fence]) -> Result<Vec<bool>, Trouble>;

    /// Records what became of claims, all in one transaction, and says for each what happened. The
    /// order of the answers is that of the settlements. Nothing is written for any of them on trouble.
    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>, Trouble>;

    /// Gives claims back unsettled; their entries can be claimed again.
    async fn release(&self, fences: &[Fence]) -> Result<(), Trouble>;

    /// When the earliest entry is due that nobody has claimed and whose target is not passed over.
    async fn next_due(&self, passed_over: &[String]) -> Result<Option<Timestamp>, Trouble>;

    /// Jobs of the given ids that are in flight now. Of other nodes, those that are claimed and due.
    async fn in_flight(&self, jobs: &[JobId]) -> Result<Vec<JobId>, Trouble>;

    /// Jobs behind one that may have come further than the clock, by id. A page ends at one of its limits, or
    /// where the jobs that it found have [`STARTED_MAX`](punctual_model::decide::STARTED_MAX) starts in the
    /// future. A job that can't be read is left out.
    async fn ahead(&self, ask: &AheadAsk) -> Result<AheadPage, Trouble>;

    /// Puts jobs back that have come further than the clock, all in one transaction, and says for each what
    /// happened, in the same order. Of a job only state, time of the PUT and progress are written, and its skips.
    async fn repair(&self, repairs: Vec<Repair>) -> Result<Vec<Repaired>, Trouble>;

    /// Changes whenever an entry was added or moved. Carries nothing: whoever is woken asks again, and
    /// a lost wake-up costs latency, never correctness.
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
    /// At most so many.
    pub limit: usize,
    /// Targets that have all the slots they may have; see [`target_of`].
    pub passed_over: Vec<String>,
}

/// A fencing token: names one claim, for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub u64);

/// A claimed entry, with what is needed to fire it.
#[derive(Clone, Debug)]
pub struct Claim {
    /// To be shown when settling.
    pub fence: Fence,
    /// The job as it was claimed; its `progress.entry` is what was claimed.
    pub job: Job,
    /// The region of its collection.
    pub region: Arc<str>,
    /// The plan of its collection.
    pub sku: Sku,
    /// Whom it will call, see [`target_of`].
    pub target: Arc<str>,
}

/// What became of a claim: decided by Rust, applied by the store.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// The claim.
    pub fence: Fence,
    /// The job with its new state, counters and progress; its revision is the one this was decided on.
    /// Its definition and key are not written.
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
    /// The job was edited since it was claimed: nothing was written, the claim goes on. Decide again
    /// on this job and its plan.
    Changed(Box<Job>, Sku),
    /// The job was deleted: nothing was written, the claim is gone.
    Gone,
    /// The fence does not hold any more: somebody else has settled or will.
    Lost,
}

/// Whom an action calls, for the cap on slots per target: the lower-case host and port of an HTTP
/// action, the account of a storage queue, the namespace of a Service Bus.
pub fn target_of(job: &Job) -> String {
    crate::target::of_job(job)
}
