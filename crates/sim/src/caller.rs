//! A caller of the API: calls the edit layer like the routes do, without HTTP.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_edit::{EditError, Editor};
use punctual_model::audit::Author;
use punctual_model::{
    Clock, Collection, CollectionKey, CollectionState, JobKey, JobSpec, Limits, Quota, access,
};
use punctual_recurrence::Frequency;
use punctual_store::Resources;

use crate::oracle::{Intent, SharedOracle};

/// Why a call was not carried out.
#[derive(Debug)]
pub(crate) enum Denied {
    /// There is no such job or collection.
    Missing,
    /// The job is completed or faulted.
    Final,
    /// The collection has as many jobs as it may.
    Full,
    /// The collection is not enabled.
    Off,
    /// Too many runs are waiting.
    TooManyRuns,
    /// The store failed; the write may have happened.
    Trouble,
}

/// The error of a function that makes a change: none of them fails.
type Never = std::convert::Infallible;

impl From<EditError<Never>> for Denied {
    fn from(error: EditError<Never>) -> Self {
        match error {
            EditError::NoGroup(_) | EditError::NoCollection(_) | EditError::NoJob(_) => Self::Missing,
            EditError::Final(..) => Self::Final,
            EditError::TooManyJobs(..) | EditError::TooManyCollections(..) => Self::Full,
            EditError::CollectionDisabled(_) => Self::Off,
            EditError::TooManyRuns => Self::TooManyRuns,
            EditError::Trouble(_) => Self::Trouble,
            EditError::Rejected(never) => match never {},
            EditError::Denied(whom) => panic!("everybody may do everything: {whom:?}"),
            EditError::Forbidden(_, found) => panic!("the limits of a world forbid nothing: {found:?}"),
            EditError::Obstructed(_, found) => panic!("no plan is changed: {found:?}"),
            EditError::Contention => panic!("nobody else writes, so a write can't stay stale"),
        }
    }
}

/// Calls the API of one store.
pub(crate) struct Caller<'a> {
    pub(crate) store: &'a dyn Resources,
    pub(crate) shared_oracle: &'a SharedOracle,
    pub(crate) clock: Arc<dyn Clock>,
    limits: Limits,
    author: Author,
}

impl<'a> Caller<'a> {
    pub(crate) fn new(
        store: &'a dyn Resources,
        shared_oracle: &'a SharedOracle,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let mut limits = Limits::default();
        // The plans of a world differ only in how many jobs a collection may have.
        limits.free.recurrence_max.frequency = Frequency::Minute;
        limits.free.authentication = true;
        Self {
            store,
            shared_oracle,
            clock,
            limits,
            author: Author::of(access::Caller::anonymous(), Timestamp::UNIX_EPOCH),
        }
    }

    pub(crate) async fn put(&self, key: &JobKey, spec: &JobSpec) -> Result<(), Denied> {
        let editor = self.editor();
        let put = editor.put_job(key, |_, _, at| {
            self.shared_oracle.lock().intend(Intent::Put { spec: spec.clone(), at });
            std::future::ready(Ok(spec.clone()))
        });
        put.await?;
        Ok(())
    }

    pub(crate) async fn patch(
        &self,
        key: &JobKey,
        merge: impl Fn(&JobSpec) -> JobSpec,
    ) -> Result<(), Denied> {
        let editor = self.editor();
        let patch = editor.patch_job(key, |_, job, at| {
            let spec = merge(&job.spec);
            self.shared_oracle.lock().intend(Intent::Patch { spec: spec.clone(), at });
            std::future::ready(Ok(spec))
        });
        patch.await?;
        Ok(())
    }

    pub(crate) async fn run(&self, key: &JobKey) -> Result<(), Denied> {
        self.shared_oracle.lock().intend(Intent::Run);
        self.editor().run_job(key).await?;
        Ok(())
    }

    pub(crate) async fn delete(&self, key: &JobKey) -> Result<(), Denied> {
        self.editor().delete_job(key).await?;
        Ok(())
    }

    pub(crate) async fn switch(&self, key: &CollectionKey, on: bool) -> Result<(), Denied> {
        self.intend_collection();
        let state = if on { CollectionState::Enabled } else { CollectionState::Disabled };
        self.editor().switch_collection(key, state).await?;
        Ok(())
    }

    pub(crate) async fn quota(&self, key: &CollectionKey, job_count_max: u32) -> Result<(), Denied> {
        self.intend_collection();
        let editor = self.editor();
        let patch = editor.patch_collection(key, move |existing, _| {
            let quota = Some(Quota { job_count_max: Some(job_count_max), ..Quota::default() });
            Ok(Collection { quota, ..existing.clone() })
        });
        patch.await?;
        Ok(())
    }

    /// Makes a collection.
    pub(crate) async fn make(&self, collection: Collection) -> Result<(), Denied> {
        self.intend_collection();
        let key = collection.key.clone();
        self.editor().put_collection(&key, move |_, _| Ok(collection.clone())).await?;
        Ok(())
    }

    fn editor(&self) -> Editor<'_> {
        Editor {
            store: self.store,
            clock: &self.clock,
            limits: &self.limits,
            author: &self.author,
            audit_key: None,
        }
    }

    fn intend_collection(&self) {
        self.shared_oracle.lock().intend(Intent::Collection { at: self.clock.now() });
    }
}
