//! Read, decide, write, and again if somebody else wrote in between.

use std::future::Future;

use punctual_arm::ApiError;
use punctual_model::{Collection, CollectionKey, Job, Skip};
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
    let write = JobWrite {
        job,
        collection_revision: collection.revision,
        skips,
        job_count_max: collection.job_count_max(),
    };
    state.store.put_job(write).await.map_err(|error| missed(error, &collection.key))
}

/// Why a write did not happen, for a caller who named this collection.
pub(crate) fn missed(error: WriteError, collection: &CollectionKey) -> Missed {
    match error {
        WriteError::Refused(Refusal::Stale) => Missed::Stale,
        WriteError::Refused(Refusal::NoCollection) => {
            Missed::Refused(ApiError::collection_not_found(collection))
        }
        WriteError::Refused(Refusal::TooManyJobs { max }) => Missed::Refused(ApiError::too_many_jobs(max)),
        WriteError::Refused(Refusal::TooManyCollections { sku, max }) => {
            Missed::Refused(ApiError::too_many_collections(sku, max))
        }
        // Whoever declines inside a transaction knows why and says it himself.
        WriteError::Refused(Refusal::Declined) => Missed::Refused(ApiError::internal()),
        WriteError::Trouble(error) => Missed::Refused(trouble(&error)),
    }
}
