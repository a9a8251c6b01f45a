//! Changes jobs.

use std::future::Future;

use jiff::Timestamp;
use punctual_model::decide::{self, EditContext};
use punctual_model::{Collection, Job, JobId, JobKey, JobSpec, Rerun, Scope, Skip};
use punctual_store::{AuditKey, JobWrite, Refusal, WriteError};

use crate::Editor;
use crate::editor::readable;
use crate::error::{EditError, Missed};

/// A job that was written, and the collection that it is in.
#[derive(Clone, Debug)]
pub struct WrittenJob {
    /// The job as it is now.
    pub job: Job,
    /// Its collection.
    pub collection: Collection,
    /// Whether it was created.
    pub new: bool,
}

impl Editor<'_> {
    /// Creates or replaces a job. `spec` makes its new definition from the collection, the existing job and the
    /// time; it is called again at every try.
    pub async fn put_job<E, F: Future<Output = Result<JobSpec, E>>>(
        &self,
        key: &JobKey,
        spec: impl Fn(&Collection, Option<&Job>, Timestamp) -> F,
    ) -> Result<WrittenJob, EditError<E>> {
        let attempt = async || {
            let (collection, existing) = self.load(key).await?;
            if let Some(job) = &existing {
                refuse_final(key, job)?;
            }
            let now = self.clock.now();
            let spec = spec(&collection, existing.as_ref(), now).await.map_err(EditError::Rejected)?;
            self.check(&spec, &collection, now)?;
            let job = decide::put(spec, key, existing.as_ref(), context(&collection, now));
            let skips = existing.as_ref().map(|existing| decide::skips_of_edit(existing, &job, now));
            let job = self.write(existing.as_ref(), job, skips.unwrap_or_default(), &collection).await?;
            Ok(WrittenJob { job, collection, new: existing.is_none() })
        };
        self.until_written(attempt).await
    }

    /// Changes an existing job. `spec` makes the merged definition; it is called again at every try.
    pub async fn patch_job<E, F: Future<Output = Result<JobSpec, E>>>(
        &self,
        key: &JobKey,
        spec: impl Fn(&Collection, &Job, Timestamp) -> F,
    ) -> Result<WrittenJob, EditError<E>> {
        let attempt = async || {
            let (collection, existing) = self.find(key).await?;
            refuse_final(key, &existing)?;
            let now = self.clock.now();
            let spec = spec(&collection, &existing, now).await.map_err(EditError::Rejected)?;
            if more_than_state(&existing.spec, &spec) {
                self.check_more_than_state(Scope::Job(key.clone()))?;
            }
            self.check(&spec, &collection, now)?;
            let job = decide::patch(spec, &existing, context(&collection, now));
            let skips = decide::skips_of_edit(&existing, &job, now);
            let job = self.write(Some(&existing), job, skips, &collection).await?;
            Ok(WrittenJob { job, collection, new: false })
        };
        self.until_written(attempt).await
    }

    /// Has a job run once, now, whatever its schedule says.
    pub async fn run_job<E>(&self, key: &JobKey) -> Result<Job, EditError<E>> {
        let attempt = async || {
            let (collection, job) = self.find(key).await?;
            if !collection.enabled() {
                return Err(EditError::CollectionDisabled(collection.key).into());
            }
            let again = decide::run(&job, self.clock.now()).ok_or(EditError::TooManyRuns)?;
            self.write(Some(&job), again, Vec::new(), &collection).await
        };
        self.until_written(attempt).await
    }

    /// Has a job run once, now, and notes that this repeats the occurrence that was due at `of_at`. The caller has seen that
    /// the job of this id has such an occurrence; another job that has its name by now is not run.
    pub async fn rerun_job<E>(
        &self,
        key: &JobKey,
        id: JobId,
        of_at: Timestamp,
    ) -> Result<Rerun, EditError<E>> {
        let attempt = async || {
            let (collection, job) = self.find(key).await?;
            if job.id != id {
                return Err(EditError::NoJob(Box::new(key.clone())).into());
            }
            if !collection.enabled() {
                return Err(EditError::CollectionDisabled(collection.key).into());
            }
            let now = self.clock.now();
            let again = decide::run(&job, now).ok_or(EditError::TooManyRuns)?;
            let rerun = Rerun { run_at: again.progress.last_run_at.unwrap_or(now), of_at };
            self.write_rerun(&job, again, rerun, &collection).await?;
            Ok(rerun)
        };
        self.until_written(attempt).await
    }

    /// Deletes a job with its history.
    pub async fn delete_job<E>(&self, key: &JobKey) -> Result<(), EditError<E>> {
        // The log tells what was deleted. If it is changed in between, the log has the change after this as well.
        let existing = match self.audit_key {
            Some(_) => readable(self.store.job_in_collection(key).await)?.flatten().and_then(|(_, job)| job),
            None => None,
        };
        let spec = existing.as_ref().map(|job| &*job.spec);
        let note = self.note(|| Scope::Job(key.clone()), spec, None, AuditKey::job);
        if self.store.delete_job(key, note).await? {
            return Ok(());
        }
        // Find out which of the two does not exist.
        match self.store.collection(&key.collection).await? {
            Some(_) => Err(EditError::NoJob(Box::new(key.clone()))),
            None => Err(EditError::NoCollection(key.collection.clone())),
        }
    }

    /// The collection of a job, which must exist, and the job, if it exists.
    async fn load<E>(&self, key: &JobKey) -> Result<(Collection, Option<Job>), EditError<E>> {
        let found = self.store.job_in_collection(key).await?;
        found.ok_or_else(|| EditError::NoCollection(key.collection.clone()))
    }

    /// A job that must exist, with its collection.
    async fn find<E>(&self, key: &JobKey) -> Result<(Collection, Job), EditError<E>> {
        let (collection, job) = self.load(key).await?;
        Ok((collection, job.ok_or_else(|| EditError::NoJob(Box::new(key.clone())))?))
    }

    /// Checks that the collection does not forbid a job.
    fn check<E>(&self, spec: &JobSpec, collection: &Collection, now: Timestamp) -> Result<(), EditError<E>> {
        let forbidden = decide::forbidden(spec, collection, self.limits, now);
        if forbidden.is_empty() {
            Ok(())
        } else {
            Err(EditError::Forbidden(Box::new(collection.clone()), forbidden))
        }
    }

    /// Writes a run that repeats an occurrence.
    async fn write_rerun<E>(
        &self,
        before: &Job,
        job: Job,
        rerun: Rerun,
        collection: &Collection,
    ) -> Result<Job, Missed<E>> {
        let write = self.write_of(Some(before), job, Vec::new(), collection);
        self.put(JobWrite { rerun: Some(rerun), ..write }, collection).await
    }

    /// Writes a job that was decided with this collection, and the occurrences that the change skips.
    async fn write<E>(
        &self,
        before: Option<&Job>,
        job: Job,
        skips: Vec<Skip>,
        collection: &Collection,
    ) -> Result<Job, Missed<E>> {
        self.put(self.write_of(before, job, skips, collection), collection).await
    }

    fn write_of(
        &self,
        before: Option<&Job>,
        job: Job,
        skips: Vec<Skip>,
        collection: &Collection,
    ) -> JobWrite {
        let (old, new) = (before.map(|job| &*job.spec), Some(&*job.spec));
        let note = self.note(|| Scope::Job(job.key.clone()), old, new, AuditKey::job);
        let collection_revision = collection.revision;
        let job_count_max = collection.job_count_max(self.limits);
        JobWrite { job, collection_revision, skips, job_count_max, rerun: None, note }
    }

    async fn put<E>(&self, write: JobWrite, collection: &Collection) -> Result<Job, Missed<E>> {
        self.store.put_job(write).await.map_err(|error| match error {
            WriteError::Refused(Refusal::TooManyJobs { max }) => {
                EditError::TooManyJobs(Box::new(collection.clone()), max).into()
            }
            other => Missed::of(other, &collection.key),
        })
    }
}

fn context(collection: &Collection, now: Timestamp) -> EditContext {
    EditContext { now, collection_enabled: collection.enabled() }
}

/// Whether a new definition differs in more than the switch.
fn more_than_state(from: &JobSpec, to: &JobSpec) -> bool {
    let JobSpec { start_at, action, recurrence, enabled: _ } = to;
    (start_at, action, recurrence) != (&from.start_at, &from.action, &from.recurrence)
}

fn refuse_final<E>(key: &JobKey, job: &Job) -> Result<(), EditError<E>> {
    if job.state.is_final() { Err(EditError::Final(Box::new(key.clone()), job.state)) } else { Ok(()) }
}
