//! `PUT …/jobs/{job}`: 201 when new, 200 when it existed

use punctual_arm::{ApiError, JobContext, id, job, quota};
use punctual_model::JobKey;
use punctual_model::decide::{self, Placement};

use super::{read, reading, render};
use crate::answer::Answer;
use crate::request::{Call, Unread};
use crate::state::ApiState;
use crate::write::{until_written, write_job};

pub(crate) async fn put(
    state: &ApiState,
    call: &Call<'_>,
    body: Unread,
    key: &JobKey,
) -> Result<Answer, ApiError> {
    let version = call.version()?;
    let dialect = call.dialect(false);
    id::check_job(key)?;
    let body = body.read().await?;
    let ignored = job::ignored(&body, version);
    let written = until_written(async || {
        let (collection, existing) = read(state, key).await?;
        if let Some(job) = existing.as_ref().filter(|job| job.state.is_final()) {
            return Err(ApiError::job_is_final(key, job.state).into());
        }
        let (limits, now) = (&state.settings.limits, state.now());
        let context = JobContext { version, sku: collection.sku, limits: *limits, now, put_at: now };
        let (bytes, name, old) = (body.clone(), key.clone(), existing.as_ref().map(|job| job.spec.clone()));
        let spec =
            reading::read(&body, move || job::read_put(&bytes, &name, old.as_deref(), &context)).await?;
        quota::check_job(&spec, &collection, limits, now)?;
        let placement = Placement { now, collection_enabled: collection.enabled() };
        let job = decide::place(spec, key, existing.as_ref(), placement);
        let skips =
            existing.as_ref().map(|existing| decide::passed_over(existing, &job, now)).unwrap_or_default();
        let written = write_job(state, job, skips, &collection).await?;
        Ok((written, collection, existing.is_none()))
    });
    let (job, collection, new) = written.await?;
    let shown = render(&job, &collection, &[], version, dialect);
    let answer = if new { Answer::created(&shown) } else { Answer::ok(&shown) };
    Ok(answer?.with_ignored(ignored.as_deref()))
}
