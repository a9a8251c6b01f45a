//! Health endpoints for people and machines.

use punctual_arm::ApiError;
use punctual_model::{CollectionKey, GroupKey};
use serde_json::json;

use crate::answer::{Answer, trouble};
use crate::state::ApiState;

/// `GET /`: what this server is.
pub(crate) fn welcome() -> Result<Answer, ApiError> {
    Answer::ok(&json!({
        "name": "punctual",
        "version": env!("CARGO_PKG_VERSION"),
        "openapi": "/openapi.json",
        "health": ["/healthz", "/readyz", "/doctor"],
    }))
}

/// `GET /healthz`: the process answers.
pub(crate) fn live() -> Result<Answer, ApiError> {
    Answer::ok(&json!({"status": "ok"}))
}

/// `GET /readyz`: the store answers and can be written, and all tasks of the server go on.
pub(crate) async fn ready(state: &ApiState) -> Result<Answer, ApiError> {
    if let Some(failure) = state.inspection.failure() {
        return Err(ApiError::stopping(&failure));
    }
    if let Some(outage) = state.store.outage() {
        return Err(trouble(&outage));
    }
    // A drained node serves: only what it can't help itself counts.
    if let Some(problem) = state.store.node_problem() {
        // Whoever asks here need not say who they are; `/nodes` tells those who may know.
        tracing::debug!(problem, "not ready: this node may not fire");
        return Err(ApiError::not_firing("`punctual nodes` says why"));
    }
    let group = GroupKey { subscription: "readyz".into(), name: "readyz".into() };
    let nowhere = CollectionKey { group, name: "readyz".into() };
    state.store.collection(&nowhere).await.map_err(|error| trouble(&error))?;
    Answer::ok(&json!({"status": "ok"}))
}
