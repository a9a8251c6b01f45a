//! `POST …/jobCollections/{jc}/enable` and `…/disable`

use http::StatusCode;
use punctual_arm::ApiError;
use punctual_model::{Collection, CollectionKey, CollectionState};

use super::edit::edit;
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
    let name = key.clone();
    let switched = edit(state, key, move |existing, _| {
        let existing = existing.ok_or_else(|| ApiError::collection_not_found(&name))?;
        Ok((existing.state != wanted).then(|| Collection { state: wanted, ..existing.clone() }))
    });
    switched.await?;
    Answer::empty(StatusCode::OK)
}
