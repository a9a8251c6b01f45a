//! Serves one request.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use http::{Request, Response, header};
use punctual_arm::{ApiError, split_path};
use punctual_model::Scope;
use punctual_model::audit::AuditOutcome;

use crate::answer::{Answer, Ids};
use crate::operation::{NoOperation, Operation};
use crate::request::{Call, UnreadBody};
use crate::right::Right;
use crate::route::{self, Endpoint, ROUTES};
use crate::state::ApiState;

/// Answers a request. Every error is an answer, too.
pub(crate) async fn serve(State(state): State<Arc<ApiState>>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let mut call = Call::new(&parts);
    let ids = Ids::new(&state);
    let found = Operation::find(parts.method.as_str(), parts.uri.path());
    let answer = match call.refusal() {
        Some(error) => Err(error),
        None => {
            call.author.request_id = ids.request();
            answer(&state, call, UnreadBody(body), parts.method.as_str(), found).await
        }
    };
    answer.unwrap_or_else(|error| Answer::error(&error)).into_response(&ids, &parts.method)
}

/// Asks who calls, then whether they may, and only then has the operation answered. Whoever does not say who they
/// are is not even told which operations there are.
async fn answer(
    state: &ApiState,
    mut call: Call<'_>,
    body: UnreadBody,
    method: &str,
    found: Result<Operation, NoOperation>,
) -> Result<Answer, ApiError> {
    call.author.at = state.access.now();
    if let Ok(operation) = &found {
        call.author.action = operation.route.action().into();
    }
    if !found.as_ref().is_ok_and(|operation| operation.route.right() == Right::Open) {
        call.caller = match state.access.identify(call.headers()).await {
            Ok(caller) => caller,
            Err(unidentified) => {
                note_refusal(state, &call, found.as_ref().ok(), AuditOutcome::Unauthenticated);
                return Ok(unidentified.answer());
            }
        };
        call.author.caller = call.caller.clone();
    }
    match found {
        Ok(operation) => {
            let answer = match operation.check(&call.caller) {
                Ok(()) => route::answer(&operation, state, &call, body).await,
                Err(error) => Err(error),
            };
            if answer.as_ref().is_err_and(ApiError::is_denial) {
                note_refusal(state, &call, Some(&operation), AuditOutcome::Denied);
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
    let (parts, body) = request.into_parts();
    let served = [Endpoint::Welcome, Endpoint::Live, Endpoint::Ready, Endpoint::Doctor];
    let method = parts.method.as_str();
    let answer = match Operation::find(method, parts.uri.path()) {
        Ok(operation) if served.contains(&operation.route.endpoint) => {
            answer(&state, Call::new(&parts), UnreadBody(body), method, Ok(operation)).await
        }
        Ok(_) | Err(_) => Err(ApiError::no_operation(parts.uri.path())),
    };
    let ids = Ids::new(&state);
    answer.unwrap_or_else(|error| Answer::error(&error)).into_response(&ids, &parts.method)
}
