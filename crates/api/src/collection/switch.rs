//! `POST …/jobCollections/{jc}/enable` and `…/disable`

use http::StatusCode;
use punctual_arm::ApiError;
use punctual_model::{CollectionKey, CollectionState};

use crate::answer::Answer;
use crate::request::Call;
use crate::state::ApiState;

pub(crate) async fn switch(
    state: &ApiState,
    call: &Call<'_>,
    key: &CollectionKey,
    on: bool,
) -> Result<Answer, ApiError> {
    call.version()?;
    let wanted = if on { CollectionState::Enabled } else { CollectionState::Disabled };
    state.editor(&call.author).switch_collection(key, wanted).await.map_err(|error| state.refused(error))?;
    Answer::empty(StatusCode::OK)
}
