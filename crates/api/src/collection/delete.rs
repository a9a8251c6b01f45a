//! `DELETE …/jobCollections/{jc}`: with its jobs and their history

use http::StatusCode;
use punctual_arm::ApiError;
use punctual_model::CollectionKey;

use crate::answer::Answer;
use crate::request::Call;
use crate::state::ApiState;

pub(crate) async fn delete(
    state: &ApiState,
    call: &Call<'_>,
    key: &CollectionKey,
) -> Result<Answer, ApiError> {
    call.version()?;
    state.editor(&call.author).delete_collection(key).await.map_err(|error| state.refused(error))?;
    Answer::empty(StatusCode::OK)
}
