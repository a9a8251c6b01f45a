//! Serves one request.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use http::{Request, Response, header};
use punctual_arm::{ApiError, split_path};
use punctual_model::Scope;

use crate::answer::{Answer, Ids};
use crate::operation::{NoOperation, Operation};
use crate::request::{Call, UnreadBody};
use crate::right::Right;
use crate::route::{self, Endpoint, ROUTES};
use crate::state::ApiState;

/// Answers a request. Every error is an answer, too.
pub(crate) async fn serve(State(state): State<Arc<ApiState>>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let call = Call::new(&parts);
    let ids = Ids::new(&state);
    let found = Operation::find(parts.method.as_str(), parts.uri.path());
    let answer = match call.refusal() {
        Some(error) => Err(error),
        None => answer(&state, call, UnreadBody(body), parts.method.as_str(), found).await,
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
    if !found.as_ref().is_ok_and(|operation| operation.route.right() == Right::Open) {
        call.caller = match state.access.identify(call.headers()).await {
            Ok(caller) => caller,
            Err(unidentified) => return Ok(unidentified.answer()),
        };
    }
    match found {
        Ok(operation) => {
            operation.check(&call.caller)?;
            route::answer(&operation, state, &call, body).await
        }
        Err(NoOperation::Path) => Err(no_operation(&call.path())),
        Err(NoOperation::Method { allowed }) => {
            let refusal = Answer::error(&ApiError::method_not_allowed(method));
            Ok(refusal.with_header(header::ALLOW, &allowed))
        }
    }
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
