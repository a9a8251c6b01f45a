//! `PATCH …/jobCollections/{jc}`

use punctual_arm::{ApiError, CollectionContext, collection};
use punctual_model::CollectionKey;

use crate::answer::Answer;
use crate::request::{Call, UnreadBody};
use crate::state::{ApiState, Settings};

pub(crate) async fn patch(
    state: &ApiState,
    call: &Call<'_>,
    body: UnreadBody,
    key: &CollectionKey,
) -> Result<Answer, ApiError> {
    let version = call.version()?;
    let body = body.into_bytes().await?;
    let ignored = collection::ignored(&body, version);
    let Settings { locations, limits, .. } = state.settings.clone();
    let editor = state.editor(&call.author);
    let written = editor.patch_collection(key, move |existing, now| {
        let context = CollectionContext { version, locations: &locations, limits, now };
        collection::read_patch(&body, existing, &context)
    });
    let written = written.await.map_err(|error| state.refused(error))?;
    Ok(Answer::ok(&collection::answer(&written, version))?.with_ignored(ignored.as_deref()))
}
