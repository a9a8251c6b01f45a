//! All operations, by method and path.
//!
//! Fixed segments match in any letter case, names keep theirs. A table of segments says this better than
//! a router of patterns, and costs less.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use http::{Method, Request, Response, header};
use percent_encoding::percent_decode_str;
use punctual_arm::ApiError;
use punctual_model::{CollectionKey, GroupKey, JobKey, Name};

use crate::answer::Answer;
use crate::request::{Call, Unread};
use crate::state::ApiState;
use crate::{collection, doctor, group, health, job, openapi, provider};

/// A path of the API, with the names in it.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Root,
    Health,
    Ready,
    Doctor,
    OpenApi,
    Providers(Name),
    Provider(Name),
    Registration(Name, bool),
    Groups(Name),
    Group(GroupKey),
    GroupOperation,
    CollectionsOfSubscription(Name),
    CollectionsOfGroup(GroupKey),
    Collection(CollectionKey),
    CollectionSwitch(CollectionKey, bool),
    Jobs(CollectionKey),
    Job(JobKey),
    JobRun(JobKey),
    JobHistory(JobKey),
    JobOccurrences(JobKey),
}

/// Answers a request. Whatever goes wrong is an answer, too.
pub(crate) async fn serve(State(state): State<Arc<ApiState>>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let call = Call::new(&parts);
    let ids = crate::answer::Ids::new(&state);
    let answer = match call.refusal() {
        Some(error) => Err(error),
        None => dispatch(&state, &call, Unread(body), &parts.method, parts.uri.path()).await,
    };
    answer.unwrap_or_else(|error| Answer::error(&error)).into_response(&ids, &parts.method)
}

/// Answers a request to a process that serves nothing but health.
pub(crate) async fn serve_health(
    State(state): State<Arc<ApiState>>,
    request: Request<Body>,
) -> Response<Body> {
    let (method, path) = (request.method(), request.uri().path());
    let answer = match (method.as_str(), place(path)) {
        ("GET" | "HEAD", Some(Place::Root)) => health::welcome(),
        ("GET" | "HEAD", Some(Place::Health)) => health::live(),
        ("GET" | "HEAD", Some(Place::Ready)) => health::ready(&state).await,
        ("GET" | "HEAD", Some(Place::Doctor)) => doctor::get(&state).await,
        _ => Err(ApiError::no_operation(path)),
    };
    let ids = crate::answer::Ids::new(&state);
    answer.unwrap_or_else(|error| Answer::error(&error)).into_response(&ids, method)
}

async fn dispatch(
    state: &ApiState,
    call: &Call<'_>,
    body: Unread,
    method: &Method,
    path: &str,
) -> Result<Answer, ApiError> {
    let place = place(path).ok_or_else(|| ApiError::no_operation(path))?;
    match (method.as_str(), place) {
        ("GET" | "HEAD", Place::Root) => health::welcome(),
        ("GET" | "HEAD", Place::Health) => health::live(),
        ("GET" | "HEAD", Place::Ready) => health::ready(state).await,
        ("GET" | "HEAD", Place::Doctor) => doctor::get(state).await,
        ("GET" | "HEAD", Place::OpenApi) => openapi::get(),
        ("GET", Place::Providers(subscription)) => provider::list(state, call, &subscription).await,
        ("GET", Place::Provider(subscription)) => provider::get(state, call, &subscription).await,
        ("POST", Place::Registration(subscription, register)) => {
            provider::register(state, call, &subscription, register).await
        }
        ("GET", Place::Groups(subscription)) => group::list(state, call, &subscription).await,
        ("GET", Place::Group(key)) => group::get(state, call, &key).await,
        ("HEAD", Place::Group(key)) => group::head(state, call, &key).await,
        ("PUT", Place::Group(key)) => group::put(state, call, body, &key).await,
        ("DELETE", Place::Group(key)) => group::delete(state, call, &key).await,
        ("GET", Place::GroupOperation) => group::operation(call),
        ("GET", Place::CollectionsOfSubscription(subscription)) => {
            collection::list(state, call, &subscription, None).await
        }
        ("GET", Place::CollectionsOfGroup(group)) => {
            collection::list(state, call, &group.subscription, Some(&group.name)).await
        }
        ("GET", Place::Collection(key)) => collection::get(state, call, &key).await,
        ("PUT", Place::Collection(key)) => collection::put(state, call, body, &key).await,
        ("PATCH", Place::Collection(key)) => collection::patch(state, call, body, &key).await,
        ("DELETE", Place::Collection(key)) => collection::delete(state, call, &key).await,
        ("POST", Place::CollectionSwitch(key, on)) => collection::switch(state, call, &key, on).await,
        ("GET", Place::Jobs(key)) => job::list(state, call, &key).await,
        ("GET", Place::Job(key)) => job::get(state, call, &key).await,
        ("PUT", Place::Job(key)) => job::put(state, call, body, &key).await,
        ("PATCH", Place::Job(key)) => job::patch(state, call, body, &key).await,
        ("DELETE", Place::Job(key)) => job::delete(state, call, &key).await,
        ("POST", Place::JobRun(key)) => job::run(state, call, &key).await,
        ("GET", Place::JobHistory(key)) => job::history(state, call, &key).await,
        ("GET", Place::JobOccurrences(key)) => job::occurrences(state, call, &key).await,
        (method, place) => {
            let refusal = Answer::error(&ApiError::method_not_allowed(method));
            Ok(refusal.with_header(header::ALLOW, place.methods()))
        }
    }
}

impl Place {
    /// The methods that this place has, for the header `Allow`.
    fn methods(&self) -> &'static str {
        match self {
            Self::Root | Self::Health | Self::Ready | Self::Doctor | Self::OpenApi => "GET, HEAD",
            Self::Group(_) => "GET, HEAD, PUT, DELETE",
            Self::Collection(_) | Self::Job(_) => "GET, PUT, PATCH, DELETE",
            Self::Registration(..) | Self::CollectionSwitch(..) | Self::JobRun(_) => "POST",
            Self::Providers(_)
            | Self::Provider(_)
            | Self::Groups(_)
            | Self::GroupOperation
            | Self::CollectionsOfSubscription(_)
            | Self::CollectionsOfGroup(_)
            | Self::Jobs(_)
            | Self::JobHistory(_)
            | Self::JobOccurrences(_) => "GET",
        }
    }
}

/// The place of a path; none if there is none. A slash at the end does not matter.
fn place(path: &str) -> Option<Place> {
    let path = path.strip_prefix('/')?;
    let segments: Vec<&str> = path.strip_suffix('/').unwrap_or(path).split('/').collect();
    let is = |index: usize, literal: &str| {
        segments.get(index).is_some_and(|one| one.eq_ignore_ascii_case(literal))
    };
    if !is(0, "subscriptions") {
        return match segments[..] {
            [""] => Some(Place::Root),
            ["healthz"] => Some(Place::Health),
            ["readyz"] => Some(Place::Ready),
            ["doctor"] => Some(Place::Doctor),
            ["openapi.json"] => Some(Place::OpenApi),
            _ => None,
        };
    }
    let subscription = name(segments.get(1)?)?;
    if is(2, "providers") {
        if segments.len() == 3 {
            return Some(Place::Providers(subscription));
        }
        return is(3, "microsoft.scheduler").then_some(()).and_then(|()| match segments.len() {
            4 => Some(Place::Provider(subscription)),
            5 if is(4, "jobcollections") => Some(Place::CollectionsOfSubscription(subscription)),
            5 if is(4, "register") => Some(Place::Registration(subscription, true)),
            5 if is(4, "unregister") => Some(Place::Registration(subscription, false)),
            _ => None,
        });
    }
    if is(2, "operationresults") && segments.len() == 4 {
        return Some(Place::GroupOperation);
    }
    if !is(2, "resourcegroups") {
        return None;
    }
    if segments.len() == 3 {
        return Some(Place::Groups(subscription));
    }
    let group = GroupKey { subscription, name: name(segments[3])? };
    if segments.len() == 4 {
        return Some(Place::Group(group));
    }
    if !(is(4, "providers") && is(5, "microsoft.scheduler") && is(6, "jobcollections")) {
        return None;
    }
    if segments.len() == 7 {
        return Some(Place::CollectionsOfGroup(group));
    }
    let collection = CollectionKey { group, name: name(segments[7])? };
    match segments.len() {
        8 => return Some(Place::Collection(collection)),
        9 if is(8, "enable") => return Some(Place::CollectionSwitch(collection, true)),
        9 if is(8, "disable") => return Some(Place::CollectionSwitch(collection, false)),
        9 if is(8, "jobs") => return Some(Place::Jobs(collection)),
        10 | 11 if is(8, "jobs") => {}
        _ => return None,
    }
    let job = JobKey { collection, name: name(segments[9])? };
    match segments.len() {
        10 => Some(Place::Job(job)),
        _ if is(10, "run") => Some(Place::JobRun(job)),
        _ if is(10, "history") => Some(Place::JobHistory(job)),
        _ if is(10, "occurrences") => Some(Place::JobOccurrences(job)),
        _ => None,
    }
}

/// A name in a path. Empty ones and such that are not UTF-8 are none.
fn name(segment: &str) -> Option<Name> {
    let decoded = percent_decode_str(segment).decode_utf8().ok()?;
    (!decoded.is_empty()).then(|| Name::new(decoded.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_segments_match_in_any_case_and_names_keep_theirs() {
        let path =
            "/Subscriptions/S1/RESOURCEGROUPS/Rg/Providers/microsoft.SCHEDULER/JobCollections/JC/JOBS/Jobs";
        let Some(Place::Job(key)) = place(path) else { panic!("{path} is a job") };
        assert_eq!(key.name.as_str(), "Jobs");
        assert_eq!(key.collection.name.as_str(), "JC");
        assert_eq!(key.collection.group.name.as_str(), "Rg");
        assert_eq!(key.collection.group.subscription.as_str(), "S1");
    }

    #[test]
    fn every_operation_has_its_place_and_nothing_else_has() {
        let group = || GroupKey { subscription: "s".into(), name: "g".into() };
        let collection = || CollectionKey::new("s", "g", "c");
        let check = |path: &str, expected: Option<Place>| assert_eq!(place(path), expected, "{path}");
        let base = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections";
        check("/", Some(Place::Root));
        check("/healthz", Some(Place::Health));
        check("/doctor", Some(Place::Doctor));
        check("/subscriptions/s/providers", Some(Place::Providers("s".into())));
        check("/subscriptions/s/providers/Microsoft.Scheduler", Some(Place::Provider("s".into())));
        check(
            "/subscriptions/s/providers/Microsoft.Scheduler/register",
            Some(Place::Registration("s".into(), true)),
        );
        check(
            "/subscriptions/s/providers/Microsoft.Scheduler/jobCollections",
            Some(Place::CollectionsOfSubscription("s".into())),
        );
        check("/subscriptions/s/resourcegroups", Some(Place::Groups("s".into())));
        check("/subscriptions/s/resourcegroups/g/", Some(Place::Group(group())));
        check(base, Some(Place::CollectionsOfGroup(group())));
        check(&format!("{base}/c"), Some(Place::Collection(collection())));
        check(&format!("{base}/c/enable"), Some(Place::CollectionSwitch(collection(), true)));
        check(&format!("{base}/c/jobs"), Some(Place::Jobs(collection())));
        check(&format!("{base}/c/jobs/j%20k"), Some(Place::Job(collection().job("j k"))));
        check(&format!("{base}/c/jobs/j/run"), Some(Place::JobRun(collection().job("j"))));
        check(&format!("{base}/c/jobs/j/history"), Some(Place::JobHistory(collection().job("j"))));
        check(&format!("{base}/c/jobs/j/occurrences"), Some(Place::JobOccurrences(collection().job("j"))));
        for nowhere in [
            "",
            "/x",
            "/subscriptions",
            "/subscriptions/s",
            "/subscriptions//providers",
            "/subscriptions/s/x",
            "/subscriptions/s/providers/Microsoft.Storage",
            "/subscriptions/s/resourceGroups/g/x",
        ] {
            check(nowhere, None);
        }
        check(&format!("{base}/c/jobs/j/stop"), None);
        check(&format!("{base}/c/jobs/j/run/1"), None);
        check(&format!("{base}/c/jobs/%ff"), None);
        check(&format!("{base}/c/tasks/j"), None);
    }
}
