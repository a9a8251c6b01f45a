//! A caller of the API: reads, decides, writes, and again if somebody else wrote in between, as the
//! routes of the API do, without HTTP.

use jiff::Timestamp;
use punctual_model::decide::{self, Placement};
use punctual_model::{Collection, CollectionKey, CollectionState, Job, JobKey, JobSpec, Limits, Quota, Skip};
use punctual_store::{CollectionWrite, JobWrite, JobsAsk, Refusal, Store, Trouble, WriteError};

use crate::ledger::{Book, Intent};

/// More than any history writes at once.
const TRIES_MAX: u32 = 100;

/// More than any collection of a world has.
const JOBS_MAX: usize = 100;

/// Why a call was not carried out.
#[derive(Debug)]
pub(crate) enum Denied {
    /// There is no such thing.
    Missing,
    /// The job is completed or faulted.
    Final,
    /// The collection has as many jobs as it may.
    Full,
    /// The collection is not enabled.
    Off,
    /// Too many runs wait.
    Crowded,
    /// The store is in trouble; the write may have happened.
    Trouble,
}

impl From<Trouble> for Denied {
    fn from(_: Trouble) -> Self {
        Self::Trouble
    }
}

/// Calls the API of one store.
pub(crate) struct Caller<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) book: &'a Book,
    pub(crate) now: Timestamp,
}

impl Caller<'_> {
    pub(crate) async fn put(&self, key: &JobKey, spec: &JobSpec) -> Result<(), Denied> {
        self.until_written(async || {
            let (collection, existing) =
                self.store.job_in_collection(key).await?.ok_or(Missed::Denied(Denied::Missing))?;
            if existing.as_ref().is_some_and(|job| job.state.is_final()) {
                return Err(Missed::Denied(Denied::Final));
            }
            let placement = self.placement(&collection);
            let job = decide::place(spec.clone(), key, existing.as_ref(), placement);
            let skips = existing.map_or_else(Vec::new, |from| decide::passed_over(&from, &job, self.now));
            self.write(job, skips, &collection, Intent::Put { spec: spec.clone(), at: self.now }).await
        })
        .await
    }

    pub(crate) async fn patch(
        &self,
        key: &JobKey,
        merge: impl Fn(&JobSpec) -> JobSpec,
    ) -> Result<(), Denied> {
        self.until_written(async || {
            let (collection, job) = self.find(key).await?;
            if job.state.is_final() {
                return Err(Missed::Denied(Denied::Final));
            }
            let spec = merge(&job.spec);
            let placement = self.placement(&collection);
            let edited = decide::edit(spec.clone(), &job, placement);
            let skips = decide::passed_over(&job, &edited, self.now);
            self.write(edited, skips, &collection, Intent::Patch { spec, at: self.now }).await
        })
        .await
    }

    pub(crate) async fn run(&self, key: &JobKey) -> Result<(), Denied> {
        self.until_written(async || {
            let (collection, job) = self.find(key).await?;
            if !collection.enabled() {
                return Err(Missed::Denied(Denied::Off));
            }
            let job = decide::run(&job, self.now).ok_or(Missed::Denied(Denied::Crowded))?;
            self.write(job, Vec::new(), &collection, Intent::Run).await
        })
        .await
    }

    pub(crate) async fn delete(&self, key: &JobKey) -> Result<(), Denied> {
        if self.store.delete_job(key).await? { Ok(()) } else { Err(Denied::Missing) }
    }

    pub(crate) async fn switch(&self, key: &CollectionKey, on: bool) -> Result<(), Denied> {
        let state = if on { CollectionState::Enabled } else { CollectionState::Disabled };
        self.until_written(async || {
            let existing = self.collection(key).await?;
            if existing.state == state {
                return Ok(());
            }
            let ask = JobsAsk { state: None, after: None, skip: 0, limit: JOBS_MAX };
            let jobs = self.store.jobs(key, &ask).await?.items;
            let (switched, skips) = decide::switch(&jobs, on, self.now);
            let write = CollectionWrite {
                collection: Collection { state, ..existing },
                jobs: switched,
                skips,
                job_count_seen: u32::try_from(jobs.len()).ok(),
                collection_count_max: u32::MAX,
            };
            self.write_collection(write).await
        })
        .await
    }

    pub(crate) async fn quota(&self, key: &CollectionKey, job_count_max: u32) -> Result<(), Denied> {
        self.until_written(async || {
            let existing = self.collection(key).await?;
            let quota = Some(Quota { job_count_max: Some(job_count_max), ..Quota::default() });
            self.write_collection(alone(Collection { quota, ..existing })).await
        })
        .await
    }

    /// Makes a collection.
    pub(crate) async fn make(&self, collection: Collection) -> Result<(), Denied> {
        self.until_written(async || self.write_collection(alone(collection.clone())).await).await
    }

    fn placement(&self, collection: &Collection) -> Placement {
        Placement { now: self.now, collection_enabled: collection.enabled() }
    }

    async fn find(&self, key: &JobKey) -> Result<(Collection, Job), Missed> {
        let (collection, job) =
            self.store.job_in_collection(key).await?.ok_or(Missed::Denied(Denied::Missing))?;
        Ok((collection, job.ok_or(Missed::Denied(Denied::Missing))?))
    }

    async fn collection(&self, key: &CollectionKey) -> Result<Collection, Missed> {
        self.store.collection(key).await?.ok_or(Missed::Denied(Denied::Missing))
    }

    async fn write(
        &self,
        job: Job,
        skips: Vec<Skip>,
        collection: &Collection,
        intent: Intent,
    ) -> Result<(), Missed> {
        self.book.open().intend(intent);
        let write = JobWrite {
            job,
            collection_revision: collection.revision,
            skips,
            job_count_max: collection.job_count_max(&Limits::default()),
        };
        self.store.put_job(write).await?;
        Ok(())
    }

    async fn write_collection(&self, write: CollectionWrite) -> Result<(), Missed> {
        self.book.open().intend(Intent::Collection { at: self.now });
        self.store.put_collection(write).await?;
        Ok(())
    }

    async fn until_written<F: Future<Output = Result<(), Missed>>>(
        &self,
        mut attempt: impl FnMut() -> F,
    ) -> Result<(), Denied> {
        for _ in 0..TRIES_MAX {
            match attempt().await {
                Err(Missed::Stale) => {}
                Err(Missed::Denied(denied)) => return Err(denied),
                Ok(()) => return Ok(()),
            }
        }
        panic!("nobody else writes, so a write can't stay stale");
    }
}

/// A write of a collection that touches none of its jobs.
fn alone(collection: Collection) -> CollectionWrite {
    CollectionWrite {
        collection,
        jobs: Vec::new(),
        skips: Vec::new(),
        job_count_seen: None,
        collection_count_max: u32::MAX,
    }
}

/// Why one try did not write.
enum Missed {
    Stale,
    Denied(Denied),
}

impl From<Trouble> for Missed {
    fn from(trouble: Trouble) -> Self {
        Self::Denied(trouble.into())
    }
}

impl From<WriteError> for Missed {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Refused(Refusal::Stale) => Self::Stale,
            WriteError::Refused(Refusal::NoCollection | Refusal::Declined) => Self::Denied(Denied::Missing),
            WriteError::Refused(Refusal::TooManyJobs { .. } | Refusal::TooManyCollections { .. }) => {
                Self::Denied(Denied::Full)
            }
            WriteError::Trouble(trouble) => trouble.into(),
        }
    }
}
