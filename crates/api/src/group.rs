//! Resource groups, as far as clients of collections need them.

use http::{StatusCode, header};
use punctual_arm::{ApiError, id, page, provider};
use punctual_model::access::Role;
use punctual_model::{GroupKey, Name, Scope, guid};
use punctual_store::Group;

use crate::answer::{Answer, trouble};
use crate::request::{Call, UnreadBody};
use crate::state::ApiState;
use crate::unreadable;

/// `GET /subscriptions/{s}/resourcegroups`
pub(crate) async fn list(state: &ApiState, call: &Call<'_>, subscription: &Name) -> Result<Answer, ApiError> {
    call.any_version()?;
    let groups = state.store.groups(subscription).await.map_err(|error| trouble(&error))?;
    let readable = |group: &&Group| call.caller.may(Role::Reader, &Scope::Group(group.key.clone()));
    let shown = groups.items.iter().filter(readable).map(render).collect();
    let answer = Answer::ok(&page::render(shown, None))?;
    // Rows that can't be read may be of others.
    let all = call.caller.may(Role::Reader, &Scope::Subscription(subscription.clone()));
    Ok(unreadable::tell(state, answer, if all { &groups.unreadable } else { &[] }))
}

/// `GET /subscriptions/{s}/resourcegroups/{rg}`
pub(crate) async fn get(state: &ApiState, call: &Call<'_>, key: &GroupKey) -> Result<Answer, ApiError> {
    call.any_version()?;
    let group = state.store.group(key).await.map_err(|error| trouble(&error))?;
    Answer::ok(&render(&group.ok_or_else(|| ApiError::group_not_found(&key.name))?))
}

/// `HEAD /subscriptions/{s}/resourcegroups/{rg}`: 204 if it exists.
pub(crate) async fn head(state: &ApiState, call: &Call<'_>, key: &GroupKey) -> Result<Answer, ApiError> {
    call.any_version()?;
    let group = state.store.group(key).await.map_err(|error| trouble(&error))?;
    group.ok_or_else(|| ApiError::group_not_found(&key.name))?;
    Answer::empty(StatusCode::NO_CONTENT)
}

/// `PUT /subscriptions/{s}/resourcegroups/{rg}`
pub(crate) async fn put(
    state: &ApiState,
    call: &Call<'_>,
    body: UnreadBody,
    key: &GroupKey,
) -> Result<Answer, ApiError> {
    call.any_version()?;
    id::check_group(key)?;
    let body = body.into_bytes().await?;
    let editor = state.editor(&call.author);
    let written = editor.put_group(key, |existing| {
        let location = existing.map(|group| group.location.as_str());
        provider::read_group(&body, location, &state.settings.locations)
    });
    let (group, new) = written.await.map_err(|error| state.refused(error))?;
    if new { Answer::created(&render(&group)) } else { Answer::ok(&render(&group)) }
}

/// `DELETE /subscriptions/{s}/resourcegroups/{rg}`: everything in it is deleted before the answer. Clients
/// expect an operation to poll, so they get one that is complete.
pub(crate) async fn delete(state: &ApiState, call: &Call<'_>, key: &GroupKey) -> Result<Answer, ApiError> {
    call.any_version()?;
    state.editor(&call.author).delete_group(key).await.map_err(|error| state.refused(error))?;
    let operation = guid(state.random.random());
    let path = format!("/subscriptions/{}/operationresults/{operation}", key.subscription);
    let link = call.link(state, &path, "api-version", call.query.get("api-version").unwrap_or_default());
    let answer = Answer::empty(StatusCode::ACCEPTED)?;
    Ok(answer.with_header(header::LOCATION, &link).with_header(header::RETRY_AFTER, "1"))
}

/// `GET /subscriptions/{s}/operationresults/{id}`: every operation is complete.
pub(crate) fn operation(call: &Call<'_>) -> Result<Answer, ApiError> {
    call.any_version()?;
    Answer::empty(StatusCode::OK)
}

fn render(group: &Group) -> serde_json::Value {
    provider::render_group(&group.key, &group.location, &group.tags)
}
