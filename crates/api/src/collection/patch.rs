//! `PATCH …/jobCollections/{jc}`

use punctual_arm::{ApiError, CollectionContext, collection};
use punctual_model::CollectionKey;

use super::edit::edit;
use crate::answer::Answer;
use crate::request::{Call, Unread};
use crate::state::{ApiState, Settings};

pub(crate) async fn patch(
    state: &ApiState,
    call: &Call<'_>,
    body: Unread,
    key: &CollectionKey,
) -> Result<Answer, ApiError> {
    let version = call.version()?;
    let body = body.read().await?;
    let ignored = collection::ignored(&body, version);
    let (Settings { locations, limits, .. }, name) = (state.settings.clone(), key.clone());
    let written = edit(state, key, move |existing, now| {
        let existing = existing.ok_or_else(|| ApiError::collection_not_found(&name))?;
        let context = CollectionContext { version, locations: &locations, limits, now };
        collection::read_patch(&body, existing, &context).map(Some)
    });
    Ok(Answer::ok(&collection::answer(&written.await?, version))?.with_ignored(ignored.as_deref()))
}
