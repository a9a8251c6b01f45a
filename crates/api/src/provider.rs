//! Registration of the provider with a subscription, which PowerShell asks for.

use punctual_arm::{ApiError, page, provider};
use punctual_model::Name;

use crate::answer::{Answer, trouble};
use crate::request::Call;
use crate::state::ApiState;

/// `GET /subscriptions/{s}/providers`
pub(crate) async fn list(state: &ApiState, call: &Call<'_>, subscription: &Name) -> Result<Answer, ApiError> {
    call.any_version()?;
    Answer::ok(&page::render(vec![rendered(state, subscription).await?], None))
}

/// `GET /subscriptions/{s}/providers/Microsoft.Scheduler`
pub(crate) async fn get(state: &ApiState, call: &Call<'_>, subscription: &Name) -> Result<Answer, ApiError> {
    call.any_version()?;
    Answer::ok(&rendered(state, subscription).await?)
}

/// `POST …/register` and `POST …/unregister`
pub(crate) async fn register(
    state: &ApiState,
    call: &Call<'_>,
    subscription: &Name,
    register: bool,
) -> Result<Answer, ApiError> {
    call.any_version()?;
    state
        .editor(&call.author)
        .register(subscription, register)
        .await
        .map_err(|error| state.refused(error))?;
    Answer::ok(&rendered(state, subscription).await?)
}

async fn rendered(state: &ApiState, subscription: &Name) -> Result<serde_json::Value, ApiError> {
    let unregistered = state.store.unregistered(subscription).await.map_err(|error| trouble(&error))?;
    Ok(provider::render(subscription, !unregistered, &state.settings.locations))
}
