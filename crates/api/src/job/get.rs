//! `GET …/jobs/{job}`, and HEAD, which says whether it is there

use http::StatusCode;
use punctual_arm::ApiError;
use punctual_model::JobKey;

use super::{find, find_id, in_flight, render};
use crate::answer::Answer;
use crate::request::Call;
use crate::state::ApiState;

pub(crate) async fn get(state: &ApiState, call: &Call<'_>, key: &JobKey) -> Result<Answer, ApiError> {
    let version = call.version()?;
    let (collection, job) = find(state, key).await?;
    let in_flight = in_flight(state, std::slice::from_ref(&job)).await?;
    Answer::ok(&render(&job, &collection, &in_flight, version, call.dialect(false)))
}

/// 204 if it exists: clients take no 200.
pub(crate) async fn head(state: &ApiState, call: &Call<'_>, key: &JobKey) -> Result<Answer, ApiError> {
    call.version()?;
    find_id(state, key).await?;
    Answer::empty(StatusCode::NO_CONTENT)
}
