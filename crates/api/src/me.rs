//! `GET /me`: who the caller is, what it may do, and what this server can do.

use http::header;
use punctual_arm::ApiError;
use punctual_arm::me::{self, Me};
use punctual_model::access::{Caller, Session};
use serde_json::Value;

use crate::answer::Answer;
use crate::request::Call;
use crate::state::ApiState;

pub(crate) fn get(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("me")?;
    let answer = Answer::ok(&document(state, &call.caller, call.session.as_ref()))?;
    Ok(answer.with_header(header::CACHE_CONTROL, "no-store"))
}

/// What a caller is told of itself and of this server.
pub(crate) fn document(state: &ApiState, caller: &Caller, session: Option<&Session>) -> Value {
    let mut features =
        vec!["agenda", "nodes", "occurrences", "preview", "rerun", "search", "sessions", "stats", "tokens"];
    if state.auditor.key().is_some() {
        features.push("audit");
    }
    if state.access.sign_in_issuers().next().is_some() {
        features.push("openIdSignIn");
    }
    if state.access.required() {
        features.push("authentication");
    }
    features.sort_unstable();
    me::answer(&Me {
        caller,
        session: session.map(|session| (session, state.access.idle_at(session))),
        features: &features,
        version: env!("CARGO_PKG_VERSION"),
        now: state.now(),
        real_now: state.access.now(),
        speed: state.clock.speed(),
    })
}
