//! `PATCH …/jobs/{job}`

use punctual_arm::{ApiError, JobContext, job, quota};
use punctual_model::JobKey;
use punctual_model::decide::{self, Placement};

use super::{find, in_flight, reading, render};
use crate::answer::Answer;
use crate::request::{Call, Unread};
use crate::state::ApiState;
use crate::write::{until_written, write_job};

pub(crate) async fn patch(
    state: &ApiState,
    call: &Call<'_>,
    body: Unread,
    key: &JobKey,
) -> Result<Answer, ApiError> {
    let version = call.version()?;
    let dialect = call.dialect(false);
    let body = body.read().await?;
    let ignored = job::ignored(&body, version);
    let written = until_written(async || {
        let (collection, existing) = find(state, key).await?;
        if existing.state.is_final() {
            return Err(ApiError::job_is_final(key, existing.state).into());
        }
        let (limits, now) = (&state.settings.limits, state.now());
        let context =
            JobContext { version, sku: collection.sku, limits: *limits, now, put_at: existing.put_at };
        let (bytes, name, old) = (body.clone(), key.clone(), existing.spec.clone());
        let spec = reading::read(&body, move || job::read_patch(&bytes, &name, &old, &context)).await?;
        quota::check_job(&spec, &collection, limits, now)?;
        let placement = Placement { now, collection_enabled: collection.enabled() };
        let job = decide::edit(spec, &existing, placement);
        let skips = decide::passed_over(&existing, &job, now);
        let written = write_job(state, job, skips, &collection).await?;
        Ok((written, collection))
    });
    let (job, collection) = written.await?;
    let in_flight = in_flight(state, std::slice::from_ref(&job)).await?;
    let answer = Answer::ok(&render(&job, &collection, &in_flight, version, dialect))?;
    Ok(answer.with_ignored(ignored.as_deref()))
}
