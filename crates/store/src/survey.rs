//! What a store has, for whoever checks that it is sound: facts, without judging them.
//!
//! Everything is read, in bounded pieces; nothing here waits for a writer or holds one up. What is
//! judged, and how, stands in `punctual_model::inspect`.

use std::collections::HashSet;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::inspect::{Census, Due, Evidence, Subject, Trace};
use punctual_model::{CollectionKey, JobId};

use crate::{Fence, HistoryCursor, Trouble};

/// Says what is there. Each method reads one snapshot.
#[async_trait]
pub trait Survey: Send + Sync {
    /// How far the store reaches.
    async fn extent(&self) -> Result<Extent, Trouble>;

    /// How many jobs there are now, and the faulted ones that ended last, at most `faulted_limit`. Costs the
    /// same however many jobs there are: faulted ones are counted up to [`FAULTED_COUNT_MAX`].
    async fn census(&self, faulted_limit: usize) -> Result<Census, Trouble>;

    /// What there is of each job behind one, by id. A page ends where it has `job_limit` jobs or has read
    /// `record_limit` records; a job that has more records than that by itself is alone at the end of its
    /// page, and its history is [`Long`](punctual_model::inspect::HistoryEvidence::Long). Empty at the end.
    ///
    /// A job that has lost a part is there as well, and one that can't be read keeps no other from being
    /// told.
    async fn survey(&self, ask: &SurveyAsk) -> Result<Vec<Evidence>, Trouble>;

    /// What there is of each collection behind one, by number; at most `limit`. Empty at the end.
    async fn survey_collections(&self, after: i64, limit: usize) -> Result<Vec<CollectionEvidence>, Trouble>;

    /// Why a group, a collection or a record of a history can't be read; none if it can, or is gone.
    async fn damage(&self, subject: &Subject) -> Result<Option<String>, Trouble>;

    /// What counts of the records of a job, newest start first, those behind one; at most `limit`.
    async fn traces(
        &self,
        job: JobId,
        after: Option<HistoryCursor>,
        limit: usize,
    ) -> Result<Vec<(HistoryCursor, Trace)>, Trouble>;

    /// Entries due at or before an instant that could be claimed, earliest first; at most `limit`.
    async fn unclaimed(&self, ask: &UnclaimedAsk) -> Result<Vec<Unclaimed>, Trouble>;

    /// All claims that this node holds. There are not more than it has slots.
    async fn held(&self) -> Result<Vec<HeldClaim>, Trouble>;

    /// Jobs that were due and could not be read: they are not claimed until they are edited. Bounded; where
    /// there are very many, not all of them.
    async fn left_out(&self) -> Result<Vec<JobId>, Trouble> {
        Ok(Vec::new())
    }

    /// Why nothing can be written now, if that is known; see [`Trouble::outage`]. Reads nothing. During an
    /// outage nothing can be claimed or begun either, since what becomes of it could not be recorded.
    fn outage(&self) -> Option<Trouble> {
        None
    }

    /// What is wrong with the store as a whole besides an outage, a sentence each that says what to do.
    async fn problems(&self) -> Result<Vec<String>, Trouble> {
        Ok(Vec::new())
    }
}

/// As far as faulted jobs are counted. Where there are more, their exact number helps nobody.
pub const FAULTED_COUNT_MAX: usize = 10_000;

/// How far a store reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The version of its schema.
    pub schema_version: u32,
    /// The highest id that was given to a job.
    pub last_job: JobId,
}

/// What a store has of one collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionEvidence {
    /// Its number: above that of any before it, and never below 1.
    pub number: i64,
    /// Where it is.
    pub key: CollectionKey,
    /// What can't be read of it.
    pub unreadable: Option<String>,
}

/// Which jobs to look at.
#[derive(Clone, Copy, Debug)]
pub struct SurveyAsk {
    /// Those behind this one; all if none.
    pub after: Option<JobId>,
    /// At most so many jobs.
    pub job_limit: usize,
    /// At most so many records in all.
    pub record_limit: usize,
}

impl SurveyAsk {
    /// One job, if it is there: it is the first of the page or not on it.
    pub fn one(job: JobId, record_limit: usize) -> Self {
        Self { after: Some(JobId(job.0.saturating_sub(1))), job_limit: 1, record_limit }
    }
}

/// Which entries to look at.
#[derive(Clone, Debug)]
pub struct UnclaimedAsk {
    /// Due at or before this instant.
    pub until: Timestamp,
    /// At most so many.
    pub limit: usize,
    /// Targets that have all the slots they may have; see [`target_of`](crate::target_of).
    pub crowded: HashSet<String>,
}

/// An entry that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unclaimed {
    /// Whose, and since when.
    pub due: Due,
    /// Whether its target was among the crowded ones.
    pub crowded: bool,
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
