//! `PUT …/jobCollections/{jc}`: always 201, as the original

use punctual_arm::{ApiError, CollectionContext, collection, id};
use punctual_model::CollectionKey;

use super::{change, read};
use crate::answer::Answer;
use crate::request::{Call, Unread};
use crate::state::ApiState;
use crate::write::{until_written, write_collection};

pub(crate) async fn put(
    state: &ApiState,
    call: &Call<'_>,
    body: Unread,
    key: &CollectionKey,
) -> Result<Answer, ApiError> {
    let version = call.version()?;
    id::check_collection(key)?;
    let body = body.read().await?;
    let written = until_written(async || {
        let existing = read(state, key).await?;
        let now = state.now();
        let context = CollectionContext { version, locations: &state.settings.locations, now };
        let wanted = collection::read_put(&body, key, existing.as_ref(), &context)?;
        write_collection(state, change(state, existing.as_ref(), wanted, now).await?).await
    });
    Answer::created(&collection::answer(&written.await?, version))
}
