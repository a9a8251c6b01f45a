//! `GET …/jobCollections/{jc}`

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
