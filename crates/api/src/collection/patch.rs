//! `PATCH …/jobCollections/{jc}`

use punctual_arm::{ApiError, CollectionContext, collection};
use punctual_model::CollectionKey;

use super::{change, find};
use crate::answer::Answer;
use crate::request::{Call, Unread};
use crate::state::ApiState;
use crate::write::{until_written, write_collection};

pub(crate) async fn patch(
    state: &ApiState,
    call: &Call<'_>,
    body: Unread,
    key: &CollectionKey,
) -> Result<Answer, ApiError> {
    let version = call.version()?;
    let body = body.read().await?;
    let written = until_written(async || {
        let existing = find(state, key).await?;
        let now = state.now();
        let context = CollectionContext { version, locations: &state.settings.locations, now };
        let wanted = collection::read_patch(&body, &existing, &context)?;
        write_collection(state, change(state, Some(&existing), wanted, now).await?).await
    });
    Answer::ok(&collection::answer(&written.await?, version))
}
