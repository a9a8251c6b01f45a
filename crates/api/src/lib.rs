//! The management API.
//!
//! Every request takes the same way: [`operation`] finds the operation, [`access`] the caller, [`right`] checks whether
//! the caller may, [`route`] calls the endpoint, which reads the request within bounds ([`request`]), converts it, has it
//! decided and stored, and [`answer`] writes status, headers and body. There is no other layer. This crate does not
//! know the runner: it changes the store, which wakes the runner.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that can't set up should stop"))]

mod access;
mod answer;
mod audit;
mod auditor;
mod collection;
mod cookie;
mod doctor;
mod edit;
mod group;
mod health;
mod host;
mod job;
mod keys;
mod limit;
mod me;
mod metrics;
mod node;
mod openapi;
mod operation;
mod origin;
mod page;
mod prefix;
mod provider;
mod refused;
mod request;
mod resource;
mod right;
mod route;
mod serve;
mod session;
mod sign_in;
mod source;
mod state;
mod subscription;
mod token;
mod traffic;
mod unreadable;
mod view;

use std::sync::Arc;

use axum::Router;

pub use access::{
    Access, AccessMode, ClientSettings, IssuerSettings, IssuerTransport, Rule, SessionSettings,
};
pub use audit::{Head, Verification};
pub use auditor::Auditor;
pub use doctor::{Checkup, Connections, FAULTED_NAMED, Faulted, FindingView, Jobs, Kind, OldestDue, Scan};
pub use host::{Hosts, host_name, host_name_of_url};
pub use job::Openers;
pub use keys::{KeyKeeper, KeyProblem, KeyView, Keys, ResealingView};
pub use limit::{CallerLimits, Limiter, Rate};
pub use node::{NodeSettings, NodeView, Nodes, StoreView};
pub use operation::{Route, Verb};
pub use page::{Page, PageFile};
pub use prefix::check_prefix;
pub use refused::{HEAD_BYTES_MAX, HEADERS_MAX, refused_head};
pub use right::Right;
pub use route::ROUTES;
pub use source::{Peer, Source};
pub use state::{ApiState, Settings};
pub use traffic::Traffic;

/// The whole API as a service.
pub fn router(state: Arc<ApiState>) -> Router {
    Router::new().fallback(serve::serve).with_state(state)
}

/// Health alone, for a process that only runs jobs.
pub fn health_router(state: Arc<ApiState>) -> Router {
    Router::new().fallback(serve::serve_health).with_state(state)
}

/// What probes and scrapers ask for, without a token: for a listener that only they can reach.
pub fn monitoring_router(state: Arc<ApiState>) -> Router {
    Router::new().fallback(serve::serve_monitoring).with_state(state)
}
