//! The operations of jobs.

mod conversion;
mod delete;
mod diff;
mod get;
mod history;
mod list;
mod occurrences;
mod patch;
mod preview;
mod put;
mod rerun;
mod run;

pub use conversion::Openers;
pub(crate) use delete::delete;
pub(crate) use diff::diff;
pub(crate) use get::{get, head};
pub(crate) use history::history;
pub(crate) use list::list;
pub(crate) use occurrences::occurrences;
pub(crate) use patch::patch;
pub(crate) use preview::preview;
pub(crate) use put::put;
pub(crate) use rerun::rerun;
pub(crate) use run::run;

use punctual_arm::{ApiError, ApiVersion, Dialect, Json, job};
use punctual_model::{Collection, Job, JobId, JobKey, decide};
use punctual_store::FoundJob;

use crate::answer::trouble;
use crate::state::ApiState;

/// The collection of a job, which must exist, and the job, if it exists.
async fn load(state: &ApiState, key: &JobKey) -> Result<(Collection, Option<Job>), ApiError> {
    let found = state.store.job_in_collection(key).await.map_err(|error| trouble(&error))?;
    found.ok_or_else(|| ApiError::collection_not_found(&key.collection))
}

/// A job that must exist, with its collection.
async fn find(state: &ApiState, key: &JobKey) -> Result<(Collection, Job), ApiError> {
    let (collection, job) = load(state, key).await?;
    Ok((collection, job.ok_or_else(|| ApiError::job_not_found(key))?))
}

/// The id of a job that must exist, and its key as it was created.
async fn find_id(state: &ApiState, key: &JobKey) -> Result<(JobId, JobKey), ApiError> {
    match state.store.find_job(key).await.map_err(|error| trouble(&error))? {
        FoundJob::NoCollection => Err(ApiError::collection_not_found(&key.collection)),
        FoundJob::NoJob => Err(ApiError::job_not_found(key)),
        FoundJob::Job { id, key } => Ok((id, key)),
    }
}

/// Those of some jobs that are in flight. Only due jobs can be, so the store is asked about few.
pub(crate) async fn in_flight(
    state: &ApiState,
    jobs: impl IntoIterator<Item = &Job>,
) -> Result<Vec<JobId>, ApiError> {
    let now = state.now();
    let is_due = |job: &&Job| job.progress.entry.is_some_and(|entry| entry.due_at <= now);
    let due: Vec<JobId> = jobs.into_iter().filter(is_due).map(|job| job.id).collect();
    if due.is_empty() {
        return Ok(due);
    }
    state.store.in_flight(&due).await.map_err(|error| trouble(&error))
}

/// Renders a job; `in_flight` are the jobs with an attempt in flight.
fn render<'a>(
    job: &'a Job,
    collection: &Collection,
    in_flight: &[JobId],
    version: ApiVersion,
    dialect: Dialect,
) -> Json<'a> {
    let next_at = decide::next_execution_at(job, collection.enabled(), in_flight.contains(&job.id));
    job::answer(job, next_at, version, dialect)
}
