//! Read, decide, write a collection, and its jobs where the change concerns them.
//!
//! Each settlement raises the revision of its job. Where jobs fire all the time, a change of all of them that
//! was decided before the write would be stale for ever; after the first such failure the store has it
//! decided inside its transaction.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use punctual_arm::{ApiError, quota};
use punctual_model::{Collection, CollectionKey, Job, Limits, decide};
use punctual_store::{
    CollectionDecision, CollectionWrite, JobsAsk, Refusal, Trouble, Unreadable, WriteError,
};

use super::read;
use crate::answer::trouble;
use crate::state::ApiState;
use crate::write::{Missed, missed, until_written};

/// Makes of a collection, if there is one, at a time what the caller wants it to be; none if it is that already.
pub(super) trait Wish:
    Fn(Option<&Collection>, Timestamp) -> Result<Option<Collection>, ApiError> + Send + Sync + 'static
{
}

impl<F> Wish for F where
    F: Fn(Option<&Collection>, Timestamp) -> Result<Option<Collection>, ApiError> + Send + Sync + 'static
{
}

/// Writes a collection as it is wanted. Answers it as it is then.
pub(super) async fn edit(
    state: &ApiState,
    key: &CollectionKey,
    wish: impl Wish,
) -> Result<Collection, ApiError> {
    let written = until_written(async || {
        let existing = read(state, key).await?;
        let now = state.now();
        let Some(to) = wish(existing.as_ref(), now)? else {
            return existing.map(Some).ok_or_else(|| ApiError::collection_not_found(key).into());
        };
        let concerned = concerns_jobs(existing.as_ref(), &to);
        let jobs = if concerned { all_jobs(state, key).await? } else { Vec::new() };
        let limits = &state.settings.limits;
        let write = write(existing.as_ref(), to, &jobs, limits, now)?;
        match state.store.put_collection(write).await.map_err(|error| missed(error, key, limits)) {
            Err(Missed::Stale) if concerned => Ok(None),
            written => written.map(Some),
        }
    });
    match written.await? {
        Some(collection) => Ok(collection),
        None => edit_inside(state, key, wish).await,
    }
}

/// Has the store decide inside its transaction.
async fn edit_inside(state: &ApiState, key: &CollectionKey, wish: impl Wish) -> Result<Collection, ApiError> {
    let (clock, limits) = (state.clock.clone(), state.settings.limits);
    let declined = Arc::new(Mutex::new(None));
    let noted = Arc::clone(&declined);
    let decide: CollectionDecision = Box::new(move |existing, jobs| {
        let now = clock.now();
        let decided = wish(existing, now)
            .and_then(|to| to.map(|to| write(existing, to, jobs, &limits, now)).transpose());
        let (write, why) = match decided {
            Ok(Some(write)) => (Some(write), None),
            Ok(None) => (None, existing.cloned().map(Ok)),
            Err(error) => (None, Some(Err(error))),
        };
        *noted.lock().unwrap_or_else(PoisonError::into_inner) = why;
        write
    });
    match state.store.edit_collection(key, decide).await {
        Ok(written) => Ok(written),
        Err(WriteError::Refused(Refusal::Declined)) => {
            let why = declined.lock().unwrap_or_else(PoisonError::into_inner).take();
            why.unwrap_or_else(|| Err(ApiError::collection_not_found(key)))
        }
        Err(error) => Err(match missed(error, key, &limits) {
            Missed::Refused(error) => error,
            // Nobody can write in between; a store that says so has a mistake in it.
            Missed::Stale => ApiError::write_contention(),
        }),
    }
}

/// Whether the jobs of a collection must be known to change it: they are held or resumed when it is switched,
/// and judged when its plan changes.
fn concerns_jobs(from: Option<&Collection>, to: &Collection) -> bool {
    from.is_some_and(|from| from.enabled() != to.enabled() || from.sku != to.sku)
}

/// All jobs of a collection: as many as it may have. A change that concerns all can't leave one out.
async fn all_jobs(state: &ApiState, key: &CollectionKey) -> Result<Vec<Job>, ApiError> {
    let ask = JobsAsk { state: None, after: None, skip: 0, limit: usize::MAX };
    let jobs = state.store.jobs(key, &ask).await.map_err(|error| trouble(&error))?;
    match jobs.unreadable.into_iter().next() {
        None => Ok(jobs.items),
        Some(Unreadable { what, detail, .. }) => Err(trouble(&Trouble::Corrupt { what, detail })),
    }
}

/// What changing a collection comes to; `jobs` are all of its jobs where the change concerns them.
fn write(
    from: Option<&Collection>,
    to: Collection,
    jobs: &[Job],
    limits: &Limits,
    now: Timestamp,
) -> Result<CollectionWrite, ApiError> {
    let mut write = CollectionWrite {
        collection_count_max: limits.of(to.sku).collection_count_max,
        collection: to,
        jobs: Vec::new(),
        skips: Vec::new(),
        job_count_seen: None,
    };
    let Some(from) = from.filter(|from| concerns_jobs(Some(from), &write.collection)) else {
        return Ok(write);
    };
    quota::check_plan_change(from, &write.collection, limits, jobs)?;
    write.job_count_seen = u32::try_from(jobs.len()).ok();
    if from.enabled() != write.collection.enabled() {
        (write.jobs, write.skips) = decide::switch(jobs, write.collection.enabled(), now);
    }
    Ok(write)
}
