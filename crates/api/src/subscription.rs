//! Subscriptions, tenants and locations, which clients ask for when they sign in.
//!
//! A subscription needs not be made: there are those of the settings, those that have a group, and those that a grant
//! of the caller names.

use std::collections::BTreeSet;

use punctual_arm::{ApiError, page, subscription};
use punctual_model::access::Role;
use punctual_model::{Name, Scope};

use crate::answer::{Answer, trouble};
use crate::request::Call;
use crate::state::ApiState;

/// `GET /subscriptions`: those in which the caller may read something
pub(crate) async fn list(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.any_version()?;
    let found = known(state, call).await?;
    let shown = found
        .iter()
        .filter(|name| call.caller.may_below(Role::Reader, &Scope::Subscription((*name).clone())));
    let shown = shown.map(|name| subscription::render(name, &state.settings.tenant)).collect();
    Answer::ok(&page::render(shown, None))
}

/// `GET /subscriptions/{s}`
pub(crate) async fn get(state: &ApiState, call: &Call<'_>, name: &Name) -> Result<Answer, ApiError> {
    call.any_version()?;
    match known(state, call).await?.get(name) {
        Some(found) => Answer::ok(&subscription::render(found, &state.settings.tenant)),
        None => Err(ApiError::subscription_not_found(name)),
    }
}

/// `GET /tenants`
pub(crate) fn tenants(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.any_version()?;
    Answer::ok(&page::render(vec![subscription::render_tenant(&state.settings.tenant)], None))
}

/// `GET /subscriptions/{s}/locations`
pub(crate) fn locations(state: &ApiState, call: &Call<'_>, name: &Name) -> Result<Answer, ApiError> {
    call.any_version()?;
    Answer::ok(&page::render(subscription::render_locations(name, &state.settings.locations), None))
}

/// All subscriptions that there are, and those that the caller's own grants name.
async fn known(state: &ApiState, call: &Call<'_>) -> Result<BTreeSet<Name>, ApiError> {
    let stored = state.store.subscriptions().await.map_err(|error| trouble(&error))?;
    // What comes first decides the letter case that is shown.
    let mut found: BTreeSet<Name> = state.settings.subscriptions.iter().cloned().collect();
    let granted = call.caller.grants.iter().filter_map(|grant| grant.scope.subscription().cloned());
    for name in stored.into_iter().chain(granted) {
        found.insert(name);
    }
    Ok(found)
}
