//! `PUT …/jobCollections/{jc}`: always 201, as the original

use punctual_arm::{ApiError, CollectionContext, collection, id};
use punctual_model::CollectionKey;

use crate::answer::Answer;
use crate::request::{Call, UnreadBody};
use crate::state::{ApiState, Settings};

pub(crate) async fn put(
    state: &ApiState,
    call: &Call<'_>,
    body: UnreadBody,
    key: &CollectionKey,
) -> Result<Answer, ApiError> {
    let version = call.version()?;
    id::check_collection(key)?;
    let body = body.into_bytes().await?;
    let ignored = collection::ignored(&body, version);
    let (Settings { locations, limits, .. }, name) = (state.settings.clone(), key.clone());
    let editor = state.editor(&call.author);
    let written = editor.put_collection(key, move |existing, now| {
        let context = CollectionContext { version, locations: &locations, limits, now };
        collection::read_put(&body, &name, existing, &context)
    });
    let written = written.await.map_err(|error| state.refused(error))?;
    Ok(Answer::created(&collection::answer(&written, version))?.with_ignored(ignored.as_deref()))
}
