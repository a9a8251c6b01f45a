//! `DELETE …/jobs/{job}`: with its history

use http::StatusCode;
use punctual_arm::ApiError;
use punctual_model::JobKey;

use super::read;
use crate::answer::{Answer, trouble};
use crate::request::Call;
use crate::state::ApiState;

pub(crate) async fn delete(state: &ApiState, call: &Call<'_>, key: &JobKey) -> Result<Answer, ApiError> {
    call.version()?;
    if state.store.delete_job(key).await.map_err(|error| trouble(&error))? {
        return Answer::empty(StatusCode::OK);
    }
    // Which of the two is missing?
    read(state, key).await?;
    Err(ApiError::job_not_found(key))
}
