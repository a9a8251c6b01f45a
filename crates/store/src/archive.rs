//! History and skips, and their deletion.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::{JobId, Record, RecordStatus, Rerun, Skip};

use crate::{Page, Trouble};

/// Reads history and deletes what is too old.
#[async_trait]
pub trait Archive: Send + Sync {
    /// Records of a job, latest start first, then highest sequence first; a page of at most `limit`.
    async fn history(&self, ask: &HistoryAsk) -> Result<Page<StoredRecord, HistoryCursor>, Trouble>;

    /// Records of the occurrences of a job whose nominal time lies in `from..=to`, ordered by nominal
    /// time, cause, step and attempt; at most `limit`.
    async fn records_between(
        &self,
        job: JobId,
        from: Timestamp,
        to: Timestamp,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, Trouble>;

    /// Skips of a job that overlap `from..=to`, ordered by their first occurrence; at most `limit`. Skips do
    /// not overlap one another; a store may rely on that except for a few dozen, so that it need not read old
    /// ones.
    async fn skips(
        &self,
        job: JobId,
        from: Timestamp,
        to: Timestamp,
        limit: usize,
    ) -> Result<Vec<Skip>, Trouble>;

    /// Runs of a job that repeat an occurrence, where the instant of either lies in `from..=to`, ordered by that of the
    /// run; at most `limit`. They are written with the run and deleted as old as records are.
    async fn reruns(
        &self,
        job: JobId,
        from: Timestamp,
        to: Timestamp,
        limit: usize,
    ) -> Result<Vec<Rerun>, Trouble>;

    /// Records of a job before this instant may have been deleted, by [`prune`](Self::prune) or
    /// [`prune_to`](Self::prune_to); none if all are there.
    async fn pruned_before(&self, job: JobId) -> Result<Option<Timestamp>, Trouble>;

    /// Deletes records that ended, skips that were decided and links of reruns that were asked for before an instant; at
    /// most `limit` of each, so that it never delays a firing. Returns how many were deleted.
    async fn prune(&self, before: Timestamp, limit: usize) -> Result<usize, Trouble>;

    /// Deletes the oldest records of jobs that have more than `keep`; at most `limit`.
    async fn prune_to(&self, keep: u32, limit: usize) -> Result<usize, Trouble>;

    /// Deletes jobs that ended before an instant, with their history; at most `limit`.
    async fn purge(&self, before: Timestamp, limit: usize) -> Result<usize, Trouble>;
}

/// Which records to read.
#[derive(Clone, Debug)]
pub struct HistoryAsk {
    /// Of this job.
    pub job: JobId,
    /// Only records with one of these statuses; all if empty.
    pub statuses: Vec<RecordStatus>,
    /// After this record, in the order of the list.
    pub after: Option<HistoryCursor>,
    /// The number of records to leave out at the start.
    pub skip: usize,
    /// The most records of the page.
    pub limit: usize,
}

/// Where a page of history ended. New records don't move it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryCursor {
    /// The start of the last record shown.
    pub started_at: Timestamp,
    /// Its sequence number.
    pub sequence: i64,
}

/// A record with its sequence number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// Unique in the store, ascending, never changed.
    pub sequence: i64,
    /// The record.
    pub record: Record,
}
