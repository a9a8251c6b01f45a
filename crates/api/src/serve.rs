//! Serves one request.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use http::request::Parts;
use http::{Method, Request, Response, header};
use punctual_arm::{ApiError, id, split_path};
use punctual_model::Scope;
use punctual_model::audit::AuditOutcome;
use tokio::time::Instant;

use crate::access::Unidentified;
use crate::answer::{Answer, Ids};
use crate::operation::{NoOperation, Operation};
use crate::request::{Call, UnreadBody};
use crate::right::Right;
use crate::route::{self, Endpoint, ROUTES};
use crate::source::Source;
use crate::state::ApiState;
use crate::{prefix, refused};

/// Answers a request. Every error is an answer, too.
pub(crate) async fn serve(State(state): State<Arc<ApiState>>, request: Request<Body>) -> Response<Body> {
    let began = Instant::now();
    let (parts, body) = unprefixed(request, &state);
    let ids = Ids::new(&state);
    let found = Operation::find(parts.method.as_str(), parts.uri.path());
    let asked = Asked::new(&state, &parts, found.as_ref().ok(), began);
    let answer = match refused::check(&parts, &found, &state.settings) {
        Err(error) => Err(refuse(&state, &parts, error)),
        Ok(()) => {
            let page = state.settings.page.as_ref();
            if let Some(response) = page.and_then(|page| page.answer(&parts, &found)) {
                return response;
            }
            let mut call = Call::new(&parts, &state);
            call.author.request_id = ids.request();
            answer(&state, call, UnreadBody(body), &parts.method, found).await
        }
    };
    respond(&state, answer, &ids, &asked)
}

/// What is counted and logged of a request.
struct Asked<'a> {
    parts: &'a Parts,
    /// The name of its operation, if it has one.
    operation: Option<&'static str>,
    /// What it is about, for the access log.
    scope: Option<String>,
    began: Instant,
}

impl<'a> Asked<'a> {
    fn new(state: &ApiState, parts: &'a Parts, operation: Option<&Operation>, began: Instant) -> Self {
        let scope = operation.filter(|_| state.settings.access_log).map(|found| id::scope(&found.scope));
        Self { parts, operation: operation.map(|found| found.route.name), scope, began }
    }
}

/// Makes the response, and counts and logs it.
fn respond(
    state: &ApiState,
    answer: Result<Answer, ApiError>,
    ids: &Ids,
    asked: &Asked<'_>,
) -> Response<Body> {
    let answer = answer.unwrap_or_else(|error| Answer::error(&error));
    let response = answer.into_response(ids, &asked.parts.method);
    let (status, took) = (response.status().as_u16(), asked.began.elapsed());
    state.metrics.request(asked.operation, status, took);
    if state.settings.access_log {
        let source =
            Source::of(asked.parts, &state.settings.trusted_proxies).map(|source| source.to_string());
        // The path is left out, and so is a method that nobody has heard of: a caller may have put a secret there.
        let method = asked.operation.map(|_| asked.parts.method.as_str());
        tracing::info!(
            target: "punctual_api::access_log",
            request = %ids.request(),
            source,
            method,
            operation = asked.operation,
            scope = asked.scope,
            status,
            took_ms = took.as_secs_f64() * 1_000.0,
            "a request was answered"
        );
    }
    response
}

/// Takes a request apart. The path of the public URL, if the proxy has passed it on, is left away.
fn unprefixed(request: Request<Body>, state: &ApiState) -> (Parts, Body) {
    let (mut parts, body) = request.into_parts();
    let prefix = state.settings.public_url.as_deref().map(prefix::of_url).unwrap_or_default();
    if let Some(uri) = prefix::without(&parts.uri, prefix) {
        parts.uri = uri;
    }
    (parts, body)
}

/// Logs that a request is refused for what its head says: whoever runs the server has to find out which name is
/// missing in the settings, or which page it was.
fn refuse(state: &ApiState, parts: &Parts, error: ApiError) -> ApiError {
    let source = Source::of(parts, &state.settings.trusted_proxies).map(|source| source.to_string());
    tracing::debug!(source, code = error.code, reason = error.message, "a request is refused");
    error
}

/// Asks who calls, then whether they may, and only then has the operation answered. Whoever does not say who they
/// are is not even told which operations there are.
async fn answer(
    state: &ApiState,
    mut call: Call<'_>,
    body: UnreadBody,
    method: &Method,
    found: Result<Operation, NoOperation>,
) -> Result<Answer, ApiError> {
    call.author.at = state.access.now();
    if let Ok(operation) = &found {
        call.author.action = operation.route.action().into();
    }
    if !found.as_ref().is_ok_and(|operation| operation.route.right() == Right::Open) {
        let identity = match state.access.identify(method, call.headers()).await {
            Ok(identity) => identity,
            Err(unidentified) => {
                note_refusal(state, &call, found.as_ref().ok(), AuditOutcome::Unauthenticated);
                let source = call.source.map(|source| source.to_string());
                tracing::debug!(source, reason = ?unidentified, "a request does not show who sends it");
                // Whoever shows nothing guesses nothing, an issuer that can't be asked is nobody's guess, and a page that was
                // left open asks on with a session that was good.
                let slowed = match unidentified {
                    Unidentified::Missing
                    | Unidentified::Undecided(_)
                    | Unidentified::SessionExpired { .. } => None,
                    _ => state.limiter.sign_in_failed(call.source, call.author.at).await,
                };
                return Ok(slowed.unwrap_or_else(|| unidentified.answer()));
            }
        };
        (call.caller, call.session) = (identity.caller, identity.session);
        call.author.caller = call.caller.clone();
    }
    let turn = match state.limiter.begin(&call.caller, method, body.bytes_max(), state.access.now()) {
        Ok(turn) => turn,
        Err(told) => return Ok(told),
    };
    let answer = perform(state, &call, body, method.as_str(), found).await;
    Ok(turn.tell(answer.unwrap_or_else(|error| Answer::error(&error))))
}

/// Answers the operation of a caller that is known, if that may.
async fn perform(
    state: &ApiState,
    call: &Call<'_>,
    body: UnreadBody,
    method: &str,
    found: Result<Operation, NoOperation>,
) -> Result<Answer, ApiError> {
    match found {
        Ok(operation) => {
            let answer = match operation.check(&call.caller) {
                Ok(()) => route::answer(&operation, state, call, body).await,
                Err(error) => Err(error),
            };
            if answer.as_ref().is_err_and(ApiError::is_denial) {
                note_refusal(state, call, Some(&operation), AuditOutcome::Denied);
            }
            answer
        }
        Err(NoOperation::Path) => Err(no_operation(&call.path())),
        Err(NoOperation::Method { allowed }) => {
            let refusal = Answer::error(&ApiError::method_not_allowed(method));
            Ok(refusal.with_header(header::ALLOW, &allowed))
        }
    }
}

/// Has the audit log say that a caller was refused.
fn note_refusal(state: &ApiState, call: &Call<'_>, operation: Option<&Operation>, outcome: AuditOutcome) {
    let scope = operation.map_or(Scope::Everything, |operation| operation.scope.clone());
    state.auditor.note(call.author.entry(scope, outcome));
}

/// The error for a path that no operation has: which part of it is wrong, and what is known instead.
fn no_operation(path: &str) -> ApiError {
    let Some((scope, tail)) = split_path(path) else { return ApiError::no_operation(path) };
    let what = match &scope {
        Scope::Everything => "this server".to_owned(),
        Scope::Subscription(name) => format!("the subscription '{name}'"),
        Scope::Group(key) => format!("the resource group '{}'", key.name),
        Scope::Collection(key) => format!("the job collection '{}'", key.name),
        Scope::Job(key) => format!("the job '{}'", key.name),
    };
    let here = ROUTES.iter().filter(|route| route.level == scope.level() && !route.tail.is_empty());
    let known: BTreeSet<&str> = here.map(|route| route.tail).collect();
    ApiError::no_operation_on(&what, tail, &known.into_iter().collect::<Vec<_>>())
}

/// Answers a request to a process that serves only health.
pub(crate) async fn serve_health(
    State(state): State<Arc<ApiState>>,
    request: Request<Body>,
) -> Response<Body> {
    let began = Instant::now();
    let (parts, body) = unprefixed(request, &state);
    let served = [Endpoint::Welcome, Endpoint::Live, Endpoint::Ready, Endpoint::Doctor, Endpoint::Metrics];
    let found = find_among(&served, &parts, &state);
    let asked = Asked::new(&state, &parts, found.as_ref().ok(), began);
    let answer = match found {
        Err(error) => Err(error),
        Ok(operation) => {
            let call = Call::new(&parts, &state);
            answer(&state, call, UnreadBody(body), &parts.method, Ok(operation)).await
        }
    };
    let ids = Ids::new(&state);
    respond(&state, answer, &ids, &asked)
}

/// Answers a request of a probe or a scraper, and asks nobody who they are. It is for a listener that only they can
/// reach.
pub(crate) async fn serve_monitoring(
    State(state): State<Arc<ApiState>>,
    request: Request<Body>,
) -> Response<Body> {
    let began = Instant::now();
    let (parts, body) = request.into_parts();
    let served = [Endpoint::Live, Endpoint::Ready, Endpoint::Doctor, Endpoint::Metrics];
    let found = find_among(&served, &parts, &state);
    let asked = Asked::new(&state, &parts, found.as_ref().ok(), began);
    let answer = match found {
        Err(error) => Err(error),
        Ok(operation) => {
            route::answer(&operation, &state, &Call::new(&parts, &state), UnreadBody(body)).await
        }
    };
    let ids = Ids::new(&state);
    respond(&state, answer, &ids, &asked)
}

/// The operation of a request where only a few are served.
fn find_among(served: &[Endpoint], parts: &Parts, state: &ApiState) -> Result<Operation, ApiError> {
    let found = Operation::find(parts.method.as_str(), parts.uri.path());
    refused::check(parts, &found, &state.settings).map_err(|error| refuse(state, parts, error))?;
    let operation = found.ok().filter(|operation| served.contains(&operation.route.endpoint));
    operation.ok_or_else(|| ApiError::no_operation(parts.uri.path()))
}
