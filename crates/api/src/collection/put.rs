//! `PUT …/jobCollections/{jc}`: always 201, as the original

use punctual_arm::{ApiError, CollectionContext, collection, id};
use punctual_model::CollectionKey;

use super::edit::edit;
use crate::answer::Answer;
use crate::request::{Call, Unread};
use crate::state::{ApiState, Settings};

pub(crate) async fn put(
    state: &ApiState,
    call: &Call<'_>,
    body: Unread,
    key: &CollectionKey,
) -> Result<Answer, ApiError> {
    let version = call.version()?;
    id::check_collection(key)?;
    let body = body.read().await?;
    let ignored = collection::ignored(&body, version);
    let (Settings { locations, limits, .. }, name) = (state.settings.clone(), key.clone());
    let written = edit(state, key, move |existing, now| {
        let context = CollectionContext { version, locations: &locations, limits, now };
        collection::read_put(&body, &name, existing, &context).map(Some)
    });
    Ok(Answer::created(&collection::answer(&written.await?, version))?.with_ignored(ignored.as_deref()))
}
