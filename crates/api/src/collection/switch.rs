//! `POST …/jobCollections/{jc}/enable` and `…/disable`

use http::StatusCode;
use punctual_arm::ApiError;
use punctual_model::{Collection, CollectionKey, CollectionState};

use super::{change, find};
use crate::answer::Answer;
use crate::request::Call;
use crate::state::ApiState;
use crate::write::{until_written, write_collection};

pub(crate) async fn switch(
    state: &ApiState,
    call: &Call<'_>,
    key: &CollectionKey,
    on: bool,
) -> Result<Answer, ApiError> {
    call.version()?;
    let wanted = if on { CollectionState::Enabled } else { CollectionState::Disabled };
    let written = until_written(async || {
        let existing = find(state, key).await?;
        if existing.state == wanted {
            return Ok(existing);
        }
        let switched = Collection { state: wanted, ..existing.clone() };
        write_collection(state, change(state, Some(&existing), switched, state.now()).await?).await
    });
    written.await?;
    Answer::empty(StatusCode::OK)
}
