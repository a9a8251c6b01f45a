//! The operations of job collections.

mod delete;
mod get;
mod list;
mod patch;
mod put;
mod switch;

pub(crate) use delete::delete;
pub(crate) use get::get;
pub(crate) use list::list;
pub(crate) use patch::patch;
pub(crate) use put::put;
pub(crate) use switch::switch;

use jiff::Timestamp;
use punctual_arm::{ApiError, page, quota};
use punctual_model::decide::{self, Placement};
use punctual_model::{Collection, CollectionKey, Job};
use punctual_store::{CollectionWrite, JobsAsk};

use crate::answer::trouble;
use crate::state::ApiState;

async fn read(state: &ApiState, key: &CollectionKey) -> Result<Option<Collection>, ApiError> {
    state.store.collection(key).await.map_err(|error| trouble(&error))
}

async fn find(state: &ApiState, key: &CollectionKey) -> Result<Collection, ApiError> {
    read(state, key).await?.ok_or_else(|| ApiError::collection_not_found(key))
}

/// What writing a changed collection comes to: its jobs are held when it is switched off, resumed when it
/// is switched on, and judged when its plan shrinks.
async fn change(
    state: &ApiState,
    from: Option<&Collection>,
    to: Collection,
    now: Timestamp,
) -> Result<CollectionWrite, ApiError> {
    let mut write = CollectionWrite {
        collection_count_max: to.sku.collection_count_max(),
        collection: to,
        jobs: Vec::new(),
        skips: Vec::new(),
        job_count_seen: None,
    };
    let Some(from) = from else { return Ok(write) };
    let switched = from.enabled() != write.collection.enabled();
    if !switched && from.sku == write.collection.sku {
        return Ok(write);
    }
    // As many as any plan allows, so these are all.
    let ask = JobsAsk { state: None, skip: 0, limit: page::JOBS_LIMIT };
    let jobs = state.store.jobs(&from.key, &ask).await.map_err(|error| trouble(&error))?;
    quota::check_plan_change(from, &write.collection, &jobs)?;
    write.job_count_seen = u32::try_from(jobs.len()).ok();
    if switched {
        let enabled = write.collection.enabled();
        write.jobs = jobs.iter().map(|job| switch_job(job, enabled, now)).collect();
        let passed_over =
            jobs.iter().zip(&write.jobs).flat_map(|(from, to)| decide::passed_over(from, to, now));
        write.skips = passed_over.collect();
    }
    Ok(write)
}

fn switch_job(job: &Job, enabled: bool, now: Timestamp) -> Job {
    if enabled {
        decide::resume(job, Placement { now, collection_enabled: true })
    } else {
        decide::hold(job, now)
    }
}
