//! Read, decide, write, and again if somebody else wrote in between.

use std::future::Future;

use punctual_arm::{ApiError, quota};
use punctual_model::{Collection, CollectionKey, Job, Limits, Skip};
use punctual_store::{JobWrite, Refusal, WriteError};

use crate::answer::trouble;
use crate::state::ApiState;

/// How often a write is tried before the caller is told to. Each failure means that somebody else's
/// write went through, so only a flood on one resource gets here.
const TRIES_MAX: u32 = 100;

/// Why one try did not write.
pub(crate) enum Missed {
    /// Somebody else wrote in between.
    Stale,
    /// The caller gets this error.
    Refused(ApiError),
}

impl From<ApiError> for Missed {
    fn from(error: ApiError) -> Self {
        Self::Refused(error)
    }
}

/// Tries until a write goes through or is refused for good.
pub(crate) async fn until_written<T, F: Future<Output = Result<T, Missed>>>(
    mut attempt: impl FnMut() -> F,
) -> Result<T, ApiError> {
    for _ in 0..TRIES_MAX {
        match attempt().await {
            Ok(written) => return Ok(written),
            Err(Missed::Refused(error)) => return Err(error),
            Err(Missed::Stale) => tokio::task::yield_now().await,
        }
    }
    Err(ApiError::write_contention())
}

/// Writes a job that was decided on this collection, and what the change passes over though it was due.
pub(crate) async fn write_job(
    state: &ApiState,
    job: Job,
    skips: Vec<Skip>,
    collection: &Collection,
) -> Result<Job, Missed> {
    let limits = &state.settings.limits;
    let write = JobWrite {
        job,
        collection_revision: collection.revision,
        skips,
        job_count_max: collection.job_count_max(limits),
    };
    state.store.put_job(write).await.map_err(|error| match error {
        WriteError::Refused(Refusal::TooManyJobs { max }) => {
            quota::too_many_jobs(max, collection, limits).into()
        }
        other => missed(other, &collection.key, limits),
    })
}

/// Why a write did not happen, for a caller who named this collection.
pub(crate) fn missed(error: WriteError, collection: &CollectionKey, limits: &Limits) -> Missed {
    match error {
        WriteError::Refused(Refusal::Stale) => Missed::Stale,
        WriteError::Refused(Refusal::NoCollection) => {
            Missed::Refused(ApiError::collection_not_found(collection))
        }
        WriteError::Refused(Refusal::TooManyCollections { sku, max }) => {
            Missed::Refused(quota::too_many_collections(max, sku, limits))
        }
        // Whoever declines inside a transaction knows why and says it himself, and jobs are counted where one
        // is added.
        WriteError::Refused(Refusal::Declined | Refusal::TooManyJobs { .. }) => {
            Missed::Refused(ApiError::internal())
        }
        WriteError::Trouble(error) => Missed::Refused(trouble(&error)),
    }
}
