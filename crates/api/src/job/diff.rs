//! `POST …/jobs/{job}/diff`: which due times of the next 30 days a change would add and take away

use punctual_arm::job::read_draft;
use punctual_arm::preview::{DiffRequest, PreviewedJob};
use punctual_arm::{ApiError, job};
use punctual_model::JobKey;

use super::find;
use super::preview::context;
use crate::answer::Answer;
use crate::request::{Call, UnreadBody};
use crate::state::ApiState;

pub(crate) async fn diff(
    state: &ApiState,
    call: &Call<'_>,
    body: UnreadBody,
    key: &JobKey,
) -> Result<Answer, ApiError> {
    let version = call.own_version("diff")?;
    let body = body.into_bytes().await?;
    let DiffRequest { method } = DiffRequest::read(&body)?;
    let (collection, existing) = find(state, key).await?;
    if existing.state.is_final() {
        return Err(ApiError::job_is_final(key, existing.state));
    }
    let now = state.now();
    let context = context(state, version, &collection, Some(&existing), method, now);
    let limits = state.settings.limits;
    let compare = move |opening: job::Opening| {
        let draft = read_draft(&body, Some(&existing), method, &context, opening)?;
        let (collection, limits) = (&collection, &limits);
        let job = PreviewedJob { draft: &draft, method, existing: Some(&existing), collection, limits, now };
        Ok(job.difference(&existing))
    };
    Answer::ok(&state.openers.calculate(compare).await?)
}
