//! Why a change was not made.

use punctual_model::access::Caller;
use punctual_model::decide::{Forbidden, Obstacle};
use punctual_model::{Collection, CollectionKey, GroupKey, JobKey, JobState, Scope, Sku};
use punctual_store::{Refusal, Trouble, WriteError};

/// Why a change was not made. `E` is the error of the caller's function that makes the change.
#[derive(Debug)]
pub enum EditError<E> {
    /// The caller's function rejected the change.
    Rejected(E),
    /// The caller may change no more than the state of this.
    Denied(Box<(Caller, Scope)>),
    /// There is no such group.
    NoGroup(GroupKey),
    /// There is no such collection.
    NoCollection(CollectionKey),
    /// There is no such job.
    NoJob(Box<JobKey>),
    /// The job is completed or faulted, and stays as it is.
    Final(Box<JobKey>, JobState),
    /// A run was asked for in a collection that is disabled.
    CollectionDisabled(CollectionKey),
    /// The job has as many waiting runs as it may.
    TooManyRuns,
    /// The plan or the quota of the collection forbids the job.
    Forbidden(Box<Collection>, Vec<Forbidden>),
    /// Jobs of the collection forbid the change to this plan.
    Obstructed(Box<Collection>, Vec<Obstacle>),
    /// The collection has as many jobs as it may.
    TooManyJobs(Box<Collection>, u32),
    /// The subscription has as many collections of the plan as it may.
    TooManyCollections(Sku, u32),
    /// Others wrote the same resource at every try.
    Contention,
    /// The store failed; the change may have been made.
    Trouble(Trouble),
}

impl<E> From<Trouble> for EditError<E> {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

/// Why one try did not write.
pub(crate) enum Missed<E> {
    /// Somebody else wrote in between; try again.
    Stale,
    /// It can't be written.
    Refused(EditError<E>),
}

impl<E> From<EditError<E>> for Missed<E> {
    fn from(error: EditError<E>) -> Self {
        Self::Refused(error)
    }
}

impl<E> From<Trouble> for Missed<E> {
    fn from(trouble: Trouble) -> Self {
        Self::Refused(trouble.into())
    }
}

impl<E> Missed<E> {
    /// Why the store did not write to this collection.
    pub(crate) fn of(error: WriteError, collection: &CollectionKey) -> Self {
        Self::Refused(match error {
            WriteError::Refused(Refusal::Stale) => return Self::Stale,
            WriteError::Refused(Refusal::NoCollection) => EditError::NoCollection(collection.clone()),
            WriteError::Refused(Refusal::TooManyCollections { sku, max }) => {
                EditError::TooManyCollections(sku, max)
            }
            WriteError::Trouble(trouble) => EditError::Trouble(trouble),
            // Only adding a job is refused for too many jobs, only a decision inside the store declines, and
            // only writes of tokens are refused for them.
            WriteError::Refused(
                refusal @ (Refusal::TooManyJobs { .. }
                | Refusal::Declined
                | Refusal::TokenExists
                | Refusal::TooManyTokens { .. }
                | Refusal::TooManySessions { .. }),
            ) => {
                let source = WriteError::Refused(refusal).into();
                EditError::Trouble(Trouble::Failed { doing: "edit", source })
            }
        })
    }
}
