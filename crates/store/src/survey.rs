//! The facts that the inspector judges.
//!
//! All methods read bounded pieces; none of them waits for a writer or delays one. `punctual_model::inspect`
//! judges the facts.

use std::collections::HashSet;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::inspect::{Census, DueEntry, Evidence, RecordFacts, Subject};
use punctual_model::{CollectionKey, JobId};

use crate::{Fence, HistoryCursor, Trouble};

/// Reads facts. Each method reads one snapshot.
#[async_trait]
pub trait Survey: Send + Sync {
    /// The size of the store.
    async fn extent(&self) -> Result<Extent, Trouble>;

    /// How many jobs there are, and the latest faulted ones, at most `faulted_limit`. Costs the same however
    /// many jobs there are: faulted ones are counted up to [`FAULTED_COUNT_MAX`].
    async fn census(&self, faulted_limit: usize) -> Result<Census, Trouble>;

    /// A page of the evidence of jobs, by id. It ends where it has `job_limit` jobs or has read `record_limit`
    /// records; a job that alone has more records is the last one of its page, and its history is
    /// [`Long`](punctual_model::inspect::HistoryEvidence::Long). Empty at the end.
    ///
    /// A job with a missing part is included, and one that can't be read does not prevent others from being
    /// read.
    async fn survey(&self, ask: &SurveyAsk) -> Result<Vec<Evidence>, Trouble>;

    /// A page of the evidence of collections, by number; at most `limit`. Empty at the end.
    async fn survey_collections(&self, after: i64, limit: usize) -> Result<Vec<CollectionEvidence>, Trouble>;

    /// Why a group, a collection or a history record can't be read; none if it can, or does not exist.
    async fn damage(&self, subject: &Subject) -> Result<Option<String>, Trouble>;

    /// What counts of the records of a job, newest start first, those behind one; at most `limit`.
    async fn record_facts(
        &self,
        job: JobId,
        after: Option<HistoryCursor>,
        limit: usize,
    ) -> Result<Vec<(HistoryCursor, RecordFacts)>, Trouble>;

    /// Unclaimed entries due at or before an instant, earliest first; at most `limit`.
    async fn unclaimed(&self, ask: &UnclaimedAsk) -> Result<Vec<Unclaimed>, Trouble>;

    /// All claims that this node holds. There are not more than it has slots.
    async fn held(&self) -> Result<Vec<HeldClaim>, Trouble>;

    /// Jobs that were due and could not be read: they are not claimed until they are edited. Bounded; if there
    /// are very many, not all of them.
    async fn left_out(&self) -> Result<Vec<JobId>, Trouble> {
        Ok(Vec::new())
    }

    /// Why nothing can be written now, if that is known; see [`Trouble::outage`]. Reads nothing. During an
    /// outage nothing can be claimed or begun either, since what becomes of it could not be recorded.
    fn outage(&self) -> Option<Trouble> {
        None
    }

    /// What is wrong with the store as a whole besides an outage: sentences that say what to do.
    async fn problems(&self) -> Result<Vec<String>, Trouble> {
        Ok(Vec::new())
    }
}

/// Faulted jobs are counted up to this number, beyond which the exact number does not matter.
pub const FAULTED_COUNT_MAX: usize = 10_000;

/// The size of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The version of its schema.
    pub schema_version: u32,
    /// The highest id of a job so far.
    pub last_job: JobId,
}

/// What a store has about one collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionEvidence {
    /// Its number: at least 1, and higher than that of all earlier collections.
    pub number: i64,
    /// Where it is.
    pub key: CollectionKey,
    /// Why it can't be read, if it can't.
    pub unreadable: Option<String>,
}

/// Which jobs to read.
#[derive(Clone, Copy, Debug)]
pub struct SurveyAsk {
    /// After this job; all if none.
    pub after: Option<JobId>,
    /// The most jobs of the page.
    pub job_limit: usize,
    /// The most records to read.
    pub record_limit: usize,
}

impl SurveyAsk {
    /// One job; it is the first of the page, or not on it if it does not exist.
    pub fn one(job: JobId, record_limit: usize) -> Self {
        Self { after: Some(JobId(job.0.saturating_sub(1))), job_limit: 1, record_limit }
    }
}

/// Which entries to read.
#[derive(Clone, Debug)]
pub struct UnclaimedAsk {
    /// Due at or before this instant.
    pub until: Timestamp,
    /// The most entries.
    pub limit: usize,
    /// Targets without a free slot; see [`target_of`](crate::target_of).
    pub full_targets: HashSet<String>,
}

/// An entry that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unclaimed {
    /// The job, and since when it is due.
    pub due: DueEntry,
    /// Whether its target is one of the full ones.
    pub target_full: bool,
}

/// A claim that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldClaim {
    /// The claim.
    pub fence: Fence,
    /// Of which job.
    pub job: JobId,
    /// Whether it is in flight.
    pub begun: bool,
}
