//! `PUT …/jobs/{job}`: 201 when new, 200 when it existed

use punctual_arm::{ApiError, JobContext, id, job};
use punctual_edit::WrittenJob;
use punctual_model::JobKey;

use super::render;
use crate::answer::Answer;
use crate::request::{Call, UnreadBody};
use crate::state::ApiState;

pub(crate) async fn put(
    state: &ApiState,
    call: &Call<'_>,
    body: UnreadBody,
    key: &JobKey,
) -> Result<Answer, ApiError> {
    let version = call.version()?;
    let dialect = call.dialect(false);
    id::check_job(key)?;
    let body = body.into_bytes().await?;
    let ignored = job::ignored(&body, version);
    let editor = state.editor(&call.author);
    let written = editor.put_job(key, |collection, existing, now| {
        let (sku, limits) = (collection.sku, state.settings.limits);
        let credential_headers = state.settings.credential_headers.clone();
        let context = JobContext { version, sku, limits, now, put_at: now, credential_headers };
        let (bytes, name, old) = (body.clone(), key.clone(), existing.map(|job| job.spec.clone()));
        let read = move |opening| job::try_read_put(&bytes, &name, old.as_deref(), &context, opening);
        state.openers.convert(read)
    });
    let WrittenJob { job, collection, new } = written.await.map_err(|error| state.refused(error))?;
    let shown = render(&job, &collection, &[], version, dialect);
    let answer = if new { Answer::created(&shown) } else { Answer::ok(&shown) };
    Ok(answer?.with_ignored(ignored.as_deref()))
}
