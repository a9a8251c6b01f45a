//! A caller as it is told of itself, and of the server.

use jiff::Timestamp;
use punctual_model::access::{Caller, Session};
use serde_json::{Value, json};

use crate::{id, session, time};

/// What a caller is told of itself, and of the server.
#[derive(Clone, Copy, Debug)]
pub struct Me<'a> {
    /// Who it is, and what it may do.
    pub caller: &'a Caller,
    /// The session that it calls by, if it does, and when that ends unless it is used.
    pub session: Option<(&'a Session, Timestamp)>,
    /// What the server can do.
    pub features: &'a [&'a str],
    /// Its version.
    pub version: &'a str,
    /// What the schedule's clock says, which may be virtual.
    pub now: Timestamp,
    /// What the real one says.
    pub real_now: Timestamp,
    /// How many seconds the schedule's clock goes in a real one.
    pub speed: f64,
}

/// The caller, its grants, its session, and what the server can do.
pub fn answer(me: &Me<'_>) -> Value {
    let grants: Vec<Value> = me
        .caller
        .grants
        .iter()
        .map(|grant| json!({"role": grant.role.name(), "scope": id::scope(&grant.scope)}))
        .collect();
    json!({
        "caller": caller(me.caller),
        "grants": grants,
        "session": me.session.map(|(session, idle_at)| session::answer(session, idle_at)),
        "features": me.features,
        "version": me.version,
        "clock": {"time": time::instant(me.now), "realTime": time::instant(me.real_now), "speed": me.speed},
    })
}

/// Who somebody is.
pub(crate) fn caller(caller: &Caller) -> Value {
    json!({"id": &*caller.id, "name": &*caller.name, "kind": caller.kind.name()})
}
