//! `DELETE …/jobCollections/{jc}`: with its jobs and their history

use http::StatusCode;
use punctual_arm::ApiError;
use punctual_model::CollectionKey;

use crate::answer::{Answer, trouble};
use crate::request::Call;
use crate::state::ApiState;

pub(crate) async fn delete(
    state: &ApiState,
    call: &Call<'_>,
    key: &CollectionKey,
) -> Result<Answer, ApiError> {
    call.version()?;
    let deleted = state.store.delete_collection(key).await.map_err(|error| trouble(&error))?;
    if deleted { Answer::empty(StatusCode::OK) } else { Err(ApiError::collection_not_found(key)) }
}
