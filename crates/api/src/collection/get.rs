//! `GET …/jobCollections/{jc}`, and HEAD, which says whether it is there

use http::StatusCode;
use punctual_arm::{ApiError, collection};
use punctual_model::CollectionKey;

use super::find;
use crate::answer::Answer;
use crate::request::Call;
use crate::state::ApiState;

pub(crate) async fn get(state: &ApiState, call: &Call<'_>, key: &CollectionKey) -> Result<Answer, ApiError> {
    let version = call.version()?;
    Answer::ok(&collection::answer(&find(state, key).await?, version))
}

/// 204 if it exists: clients take no 200.
pub(crate) async fn head(state: &ApiState, call: &Call<'_>, key: &CollectionKey) -> Result<Answer, ApiError> {
    call.version()?;
    find(state, key).await?;
    Answer::empty(StatusCode::NO_CONTENT)
}
