//! `PATCH …/jobs/{job}`

use punctual_arm::{ApiError, JobContext, job};
use punctual_edit::WrittenJob;
use punctual_model::access::Role;
use punctual_model::{JobKey, Scope};

use super::{in_flight, render};
use crate::answer::Answer;
use crate::request::{Call, UnreadBody};
use crate::right::denied;
use crate::route;
use crate::state::ApiState;

pub(crate) async fn patch(
    state: &ApiState,
    call: &Call<'_>,
    body: UnreadBody,
    key: &JobKey,
) -> Result<Answer, ApiError> {
    let version = call.version()?;
    let dialect = call.dialect(false);
    let body = body.into_bytes().await?;
    let scope = Scope::Job(key.clone());
    let sends_secrets = job::sends_secrets(&body, &state.settings.credential_headers);
    // Whether a secret that is sent is the stored one must not show by what is allowed.
    if !call.caller.may(Role::Contributor, &scope) && sends_secrets {
        return Err(denied(&call.caller, route::write_action(&scope), &scope));
    }
    let ignored = job::ignored(&body, version);
    let editor = state.editor(&call.author);
    let written = editor.patch_job(key, |collection, existing, now| {
        let (sku, limits) = (collection.sku, state.settings.limits);
        let credential_headers = state.settings.credential_headers.clone();
        let context = JobContext { version, sku, limits, now, put_at: existing.put_at, credential_headers };
        let (bytes, name, old) = (body.clone(), key.clone(), existing.spec.clone());
        let read = move |opening| job::try_read_patch(&bytes, &name, &old, &context, opening);
        state.openers.convert(read)
    });
    let WrittenJob { job, collection, .. } = written.await.map_err(|error| state.refused(error))?;
    let in_flight = in_flight(state, std::slice::from_ref(&job)).await?;
    let answer = Answer::ok(&render(&job, &collection, &in_flight, version, dialect))?;
    Ok(answer.with_ignored(ignored.as_deref()))
}
