//! `GET …/jobs/{job}`

use punctual_arm::ApiError;
use punctual_model::JobKey;

use super::{find, in_flight, render};
use crate::answer::Answer;
use crate::request::Call;
use crate::state::ApiState;

pub(crate) async fn get(state: &ApiState, call: &Call<'_>, key: &JobKey) -> Result<Answer, ApiError> {
    let version = call.version()?;
    let (collection, job) = find(state, key).await?;
    let in_flight = in_flight(state, std::slice::from_ref(&job)).await?;
    Answer::ok(&render(&job, &collection, &in_flight, version, call.dialect(false)))
}
