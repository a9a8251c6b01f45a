//! What callers of the API read and write: groups, collections, jobs.
//!
//! Rust decides, the store applies: a write carries the finished result and the revisions it was
//! decided on, and is refused as [`Refusal::Stale`](crate::Refusal::Stale) if they are no longer true. The caller then reads,
//! decides and writes again; nobody's update is lost.
//!
//! A change that concerns all jobs of a collection would be stale for ever where they fire all the time,
//! since each settlement raises a revision. [`edit_collection`](Resources::edit_collection) makes that
//! decision inside the transaction.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::{Collection, CollectionKey, GroupKey, Job, JobId, JobKey, JobState, Name, Skip};

use crate::{Page, Trouble, WriteError};

/// Reads and writes groups, collections and jobs. Each method is one transaction.
#[async_trait]
pub trait Resources: Send + Sync {
    /// A collection, or none.
    async fn collection(&self, key: &CollectionKey) -> Result<Option<Collection>, Trouble>;

    /// Collections by group and name, ascending, a page of at most `limit`.
    async fn collections(&self, ask: &CollectionsAsk) -> Result<Page<Collection, CollectionKey>, Trouble>;

    /// Writes a collection, and with it those of its jobs that the change touches. Creates its group
    /// if need be. Returns it with its new revision. Refused if the collection's or a job's revision
    /// is not the one given, if the collection has other jobs than were seen, or if the subscription
    /// would have more collections of its plan than `collection_count_max`.
    async fn put_collection(&self, write: CollectionWrite) -> Result<Collection, WriteError>;

    /// Reads a collection with all its jobs, has `decide` say what to write, and writes it, all in one
    /// transaction: nobody writes in between, so a decision on what was read is never stale. Refused as
    /// by [`put_collection`](Self::put_collection), or as [`Refusal::Declined`](crate::Refusal::Declined)
    /// if `decide` says that nothing is to be written.
    ///
    /// Other writes wait meanwhile, so this is for changes that concern all jobs, after a write that was
    /// decided outside turned out to be stale.
    async fn edit_collection(
        &self,
        key: &CollectionKey,
        decide: CollectionDecision,
    ) -> Result<Collection, WriteError>;

    /// Deletes a collection with its jobs and their history. False if there was none.
    async fn delete_collection(&self, key: &CollectionKey) -> Result<bool, Trouble>;

    /// Finds a job by its name without reading its definition, for whoever needs no more than its id.
    async fn find_job(&self, key: &JobKey) -> Result<FoundJob, Trouble>;

    /// A job with the collection it is in: what an edit is decided on, in one read. `None` for the
    /// whole means that there is no collection.
    async fn job_in_collection(&self, key: &JobKey) -> Result<Option<(Collection, Option<Job>)>, Trouble>;

    /// Jobs of a collection by name, ascending, a page of at most `limit`; the next one skips so many.
    /// Empty where there is no collection.
    async fn jobs(&self, collection: &CollectionKey, ask: &JobsAsk) -> Result<Page<Job, Name>, Trouble>;

    /// Writes a job, its agenda entry and the history that its edit makes. A new job (revision 0)
    /// gets its id here. Returns the job with id and new revision. Refused if the revision of the job
    /// or of its collection is not the one given, or if a new job would be one too many.
    ///
    /// An entry of the job that is claimed but not begun is taken back; one in flight stays claimed
    /// until it is settled, and the job's new entry is not handed out before.
    async fn put_job(&self, write: JobWrite) -> Result<Job, WriteError>;

    /// Deletes a job with its history. False if there was none.
    async fn delete_job(&self, key: &JobKey) -> Result<bool, Trouble>;

    /// A group, or none.
    async fn group(&self, key: &GroupKey) -> Result<Option<Group>, Trouble>;

    /// The groups of a subscription by name: one page, of as many as anybody has.
    async fn groups(&self, subscription: &Name) -> Result<Page<Group, Name>, Trouble>;

    /// Writes a group. True if it is new.
    async fn put_group(&self, group: &Group) -> Result<bool, Trouble>;

    /// Deletes a group and all that is in it. False if there was none.
    async fn delete_group(&self, key: &GroupKey) -> Result<bool, Trouble>;

    /// Whether a subscription was unregistered from the provider; it counts as registered otherwise.
    async fn unregistered(&self, subscription: &Name) -> Result<bool, Trouble>;

    /// Registers or unregisters a subscription.
    async fn set_unregistered(&self, subscription: &Name, unregistered: bool) -> Result<(), Trouble>;
}

/// What a name of a job leads to.
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
    /// Those behind this one.
    pub after: Option<CollectionKey>,
    /// At most so many.
    pub limit: usize,
}

/// Which jobs to list.
#[derive(Clone, Debug)]
pub struct JobsAsk {
    /// In this state only.
    pub state: Option<JobState>,
    /// Those behind this name only.
    pub after: Option<Name>,
    /// Without the first so many.
    pub skip: usize,
    /// At most so many.
    pub limit: usize,
}

/// Says what to write of a collection, if there is one, and of all its jobs, which come by name; none if
/// nothing is to be written. It may be called several times for one edit; the last call counts.
pub type CollectionDecision = Box<dyn FnMut(Option<&Collection>, &[Job]) -> Option<CollectionWrite> + Send>;

/// A collection to write.
#[derive(Clone, Debug)]
pub struct CollectionWrite {
    /// The collection. Its revision is the one the change was decided on; 0 if it must be new.
    pub collection: Collection,
    /// Its jobs that change with it, each with the revision it was decided on. Their definitions are not
    /// written.
    pub jobs: Vec<Job>,
    /// Occurrences of those jobs that the change passes over, though they were due.
    pub skips: Vec<Skip>,
    /// How many jobs the collection had when the change was decided, where it concerns them all: a job
    /// that was added since is not among `jobs`, so the write is refused as stale.
    pub job_count_seen: Option<u32>,
    /// How many collections of this plan the subscription may have, this one included.
    pub collection_count_max: u32,
}

/// A job to write.
#[derive(Clone, Debug)]
pub struct JobWrite {
    /// The job. Its revision is the one the change was decided on; 0 if it must be new.
    pub job: Job,
    /// The revision of its collection that the change was decided on.
    pub collection_revision: i64,
    /// Occurrences that the edit passes over, though they were due; none for a new job.
    pub skips: Vec<Skip>,
    /// How many jobs the collection may have, this one included. Asked of new jobs only.
    pub job_count_max: u32,
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
