//! Groups, collections and jobs, which callers of the API read and write.
//!
//! The caller decides, the store applies: a write contains the finished result and the revisions that it was
//! decided on, and is refused as [`Refusal::Stale`](crate::Refusal::Stale) if they have changed. The caller
//! then reads, decides and writes again, so no update is lost.
//!
//! A change of all jobs of a collection would always be stale if they fire all the time, since each settlement
//! increments a revision. [`edit_collection`](Resources::edit_collection) makes that decision inside the
//! transaction.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::audit::AuditEntry;
use punctual_model::{Collection, CollectionKey, GroupKey, Job, JobId, JobKey, JobState, Name, Rerun, Skip};

use crate::{Page, Trouble, WriteError};

/// The most subscriptions that are listed; the API has no pages of them.
pub const SUBSCRIPTIONS_MAX: usize = 10_000;

/// Reads and writes groups, collections and jobs. Each method is one transaction, which also appends the `note` of a change
/// to the audit log if something was changed.
#[async_trait]
pub trait Resources: Send + Sync {
    /// A collection, or none.
    async fn collection(&self, key: &CollectionKey) -> Result<Option<Collection>, Trouble>;

    /// A page of collections by group and name, ascending.
    async fn collections(&self, ask: &CollectionsAsk) -> Result<Page<Collection, CollectionKey>, Trouble>;

    /// Writes a collection, and those of its jobs that change with it. Creates its group if necessary. Returns
    /// it with its new revision. Refused if the revision of the collection or of a job is not the given one, if
    /// the collection has other jobs than were seen, or if the subscription would have more than
    /// `collection_count_max` collections of its plan.
    async fn put_collection(&self, write: CollectionWrite) -> Result<Collection, WriteError>;

    /// Reads a collection with all its jobs, has `decide` say what to write, and writes it, all in one
    /// transaction: nobody writes in between, so the decision is never stale. Refused like
    /// [`put_collection`](Self::put_collection), or as [`Refusal::Declined`](crate::Refusal::Declined) if
    /// `decide` returns nothing.
    ///
    /// Other writes wait meanwhile, so use this only for changes of all jobs, after a write that was decided
    /// outside was stale.
    async fn edit_collection(
        &self,
        key: &CollectionKey,
        decide: CollectionDecision,
    ) -> Result<Collection, WriteError>;

    /// Deletes a collection with its jobs and their history. False if it does not exist.
    async fn delete_collection(&self, key: &CollectionKey, note: Option<AuditEntry>)
    -> Result<bool, Trouble>;

    /// Finds a job by name without reading its definition, for callers that need only its id.
    async fn find_job(&self, key: &JobKey) -> Result<FoundJob, Trouble>;

    /// A job with its collection: what an edit is decided on, in one read. `None` for the whole means that the
    /// collection does not exist.
    async fn job_in_collection(&self, key: &JobKey) -> Result<Option<(Collection, Option<Job>)>, Trouble>;

    /// A page of the jobs of a collection by name, ascending. Empty if there is no such collection.
    async fn jobs(&self, collection: &CollectionKey, ask: &JobsAsk) -> Result<Page<Job, Name>, Trouble>;

    /// Writes a job, its agenda entry and the skips of its edit. A new job (revision 0) gets its id here.
    /// Returns the job with its id and new revision. Refused if the revision of the job or of its collection is
    /// not the given one, or if a new job would be one too many.
    ///
    /// A claim of the job that is not begun is taken back; one in flight is kept until it is settled, and the
    /// new entry of the job is not claimed before.
    async fn put_job(&self, write: JobWrite) -> Result<Job, WriteError>;

    /// Deletes a job with its history. False if it does not exist.
    async fn delete_job(&self, key: &JobKey, note: Option<AuditEntry>) -> Result<bool, Trouble>;

    /// A group, or none.
    async fn group(&self, key: &GroupKey) -> Result<Option<Group>, Trouble>;

    /// The groups of a subscription by name, in one page.
    async fn groups(&self, subscription: &Name) -> Result<Page<Group, Name>, Trouble>;

    /// The subscriptions that have a group, by name; at most [`SUBSCRIPTIONS_MAX`].
    async fn subscriptions(&self) -> Result<Vec<Name>, Trouble>;

    /// Writes a group. True if it is new.
    async fn put_group(&self, group: &Group, note: Option<AuditEntry>) -> Result<bool, Trouble>;

    /// Deletes a group and all that is in it. False if it does not exist.
    async fn delete_group(&self, key: &GroupKey, note: Option<AuditEntry>) -> Result<bool, Trouble>;

    /// Whether a subscription was unregistered from the provider; otherwise it counts as registered.
    async fn unregistered(&self, subscription: &Name) -> Result<bool, Trouble>;

    /// Registers or unregisters a subscription.
    async fn set_unregistered(
        &self,
        subscription: &Name,
        unregistered: bool,
        note: Option<AuditEntry>,
    ) -> Result<(), Trouble>;
}

/// The result of a search for a job by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundJob {
    /// There is no such collection.
    NoCollection,
    /// The collection has no such job.
    NoJob,
    /// There is one.
    Job {
        /// Its id.
        id: JobId,
        /// Its key in the letter case that it was created with.
        key: JobKey,
    },
}

/// Which collections to list.
#[derive(Clone, Debug)]
pub struct CollectionsAsk {
    /// Of this subscription.
    pub subscription: Name,
    /// Of this group only.
    pub group: Option<Name>,
    /// After this collection.
    pub after: Option<CollectionKey>,
    /// The most collections of the page.
    pub limit: usize,
}

/// Which jobs to list.
#[derive(Clone, Debug)]
pub struct JobsAsk {
    /// Only jobs in this state.
    pub state: Option<JobState>,
    /// After this name.
    pub after: Option<Name>,
    /// The number of jobs to leave out at the start.
    pub skip: usize,
    /// The most jobs of the page.
    pub limit: usize,
}

/// Decides what to write of a collection, if it exists, and all its jobs, ordered by name; none if nothing is
/// to be written. It may be called several times for one edit; the last call counts.
pub type CollectionDecision = Box<dyn FnMut(Option<&Collection>, &[Job]) -> Option<CollectionWrite> + Send>;

/// A collection to write.
#[derive(Clone, Debug)]
pub struct CollectionWrite {
    /// The collection. Its revision is the one that the change was decided on; 0 if it must be new.
    pub collection: Collection,
    /// Its jobs that change with it, each with the revision that it was decided on. Their definitions are not
    /// written.
    pub jobs: Vec<Job>,
    /// Due occurrences of those jobs that the change skips.
    pub skips: Vec<Skip>,
    /// How many jobs the collection had when the change was decided, if it concerns all of them: a job that was
    /// added since is not among `jobs`, so the write is refused as stale.
    pub job_count_seen: Option<u32>,
    /// The most collections of this plan that the subscription may have, including this one.
    pub collection_count_max: u32,
    /// What the audit log says of the change.
    pub note: Option<AuditEntry>,
}

/// A job to write.
#[derive(Clone, Debug)]
pub struct JobWrite {
    /// The job. Its revision is the one that the change was decided on; 0 if it must be new.
    pub job: Job,
    /// The revision of its collection that the change was decided on.
    pub collection_revision: i64,
    /// Due occurrences that the edit skips; none for a new job.
    pub skips: Vec<Skip>,
    /// The most jobs that the collection may have, including this one. Checked for new jobs only.
    pub job_count_max: u32,
    /// The past occurrence that a run repeats which the write adds; see [`Archive::reruns`](crate::Archive::reruns).
    pub rerun: Option<Rerun>,
    /// What the audit log says of the change.
    pub note: Option<AuditEntry>,
}

/// A resource group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Where it is.
    pub key: GroupKey,
    /// The region's display name.
    pub location: String,
    /// In the order they were given.
    pub tags: Vec<(String, String)>,
    /// When it was created.
    pub created_at: Timestamp,
}
