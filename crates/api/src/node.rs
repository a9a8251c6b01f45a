//! The nodes that share the store: what each of them does, and having one fire nothing.

use std::time::Duration;

use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use punctual_arm::ApiError;
use punctual_model::Scope;
use punctual_model::audit::{AuditEntry, AuditOutcome};
use punctual_store::{Node, NodeReport};
use serde::{Deserialize, Serialize};

use crate::answer::{Answer, trouble};
use crate::request::Call;
use crate::state::ApiState;

/// What is known of this node and of its store without asking.
#[derive(Clone, Debug, Default)]
pub struct NodeSettings {
    /// What it is called, where the store does not say so.
    pub name: String,
    /// When it was started.
    pub started_at: Option<Timestamp>,
    /// Whether it fires, where the store does not say so.
    pub fires: bool,
    /// The store.
    pub store: StoreView,
    /// How long a node may give no sign of life; none if there is one alone.
    pub takeover: Option<Duration>,
    /// How far a clock may be off; none if there is one alone.
    pub clock_allowance: Option<Duration>,
}

/// The nodes, as JSON.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Nodes {
    /// By lease.
    pub value: Vec<NodeView>,
    /// What they share.
    pub store: StoreView,
    /// How long a node may give no sign of life.
    pub takeover_seconds: Option<u64>,
    /// How far the clock of a node may be off.
    pub clock_allowance_ms: Option<u64>,
}

/// A store, as JSON.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct StoreView {
    /// `sqlite`, `postgres` or `memory`.
    pub kind: String,
    /// What it says it is, such as `PostgreSQL 15.18`.
    pub detail: String,
}

/// A node, as JSON.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeView {
    /// What it is called.
    pub name: String,
    /// Its lease.
    pub lease: u64,
    /// Its position among those that fire.
    pub rank: Option<u32>,
    /// The version of its program.
    pub version: String,
    /// When it was started.
    pub started_at: Option<String>,
    /// How long ago it gave a sign of life.
    pub beat_age_ms: u64,
    /// How many occurrences it holds.
    pub held: u32,
    /// How many attempts it has in flight.
    pub in_flight: u32,
    /// How far its clock is ahead of the shared one.
    pub clock_offset_ms: f64,
    /// Whether it fires.
    pub fires: bool,
    /// Why not, if it should.
    pub reason: Option<String>,
    /// Whether somebody has drained it.
    pub drained: bool,
    /// Where it serves the API.
    pub url: Option<String>,
    /// Whether it is the one that answers.
    #[serde(rename = "self")]
    pub own: bool,
}

impl NodeView {
    /// A node as the one with this lease tells of it.
    pub fn of(node: &Node, own: u64) -> Self {
        Self {
            name: node.name.clone(),
            lease: node.lease,
            rank: node.rank,
            version: node.version.clone(),
            started_at: node.started_at.map(|at| at.to_string()),
            beat_age_ms: u64::try_from(node.beat_age.as_millis()).unwrap_or(u64::MAX),
            held: node.report.held,
            in_flight: node.report.in_flight,
            clock_offset_ms: (node.clock_lead.as_secs_f64() * 10_000_000.0).round() / 10_000.0,
            fires: node.report.fires,
            reason: node.problem.clone(),
            drained: node.drained,
            url: Some(node.url.clone()).filter(|url| !url.is_empty()),
            own: node.lease == own,
        }
    }
}

/// `GET /nodes`: who shares the store, and what they do
pub(crate) async fn list(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("nodes")?;
    let settings = &state.settings.node;
    Answer::ok(&Nodes {
        value: views(state).await?,
        store: settings.store.clone(),
        takeover_seconds: settings.takeover.map(|takeover| takeover.as_secs()),
        clock_allowance_ms: settings
            .clock_allowance
            .map(|allowance| u64::try_from(allowance.as_millis()).unwrap_or(u64::MAX)),
    })
}

/// `POST /nodes/{name}/drain`: it fires nothing from now on
pub(crate) async fn drain(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    set_drained(state, call, true).await
}

/// `POST /nodes/{name}/undrain`: it fires again
pub(crate) async fn undrain(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    set_drained(state, call, false).await
}

async fn set_drained(state: &ApiState, call: &Call<'_>, drained: bool) -> Result<Answer, ApiError> {
    call.own_version("nodes")?;
    let path = call.path();
    let segment = path.trim_matches('/').split('/').nth(1).unwrap_or_default();
    let name = percent_decode_str(segment).decode_utf8_lossy();
    if state.store.boot().is_none() {
        return Err(ApiError::conflict(
            "This server has its store for itself: there is no other node that would fire instead.",
        ));
    }
    let note = state.auditor.key().map(|_| AuditEntry {
        subject: format!("node {name}").into(),
        ..call.author.entry(Scope::Everything, AuditOutcome::Done)
    });
    if !state.store.drain(&name, drained, note).await.map_err(|error| trouble(&error))? {
        return Err(ApiError::node_not_found(&name));
    }
    tracing::info!(by = %call.caller.name, by_id = %call.caller.id, node = %name, drained, "a node was drained or is to fire again");
    let node = views(state).await?.into_iter().find(|node| node.name == name);
    Answer::ok(&node.ok_or_else(|| ApiError::node_not_found(&name))?)
}

/// All nodes, as JSON.
async fn views(state: &ApiState) -> Result<Vec<NodeView>, ApiError> {
    let own = state.store.standing().borrow().lease;
    let mut nodes = state.store.nodes().await.map_err(|error| trouble(&error))?;
    if state.store.boot().is_none()
        && let [alone] = nodes.as_mut_slice()
    {
        fill(alone, state).await?;
    }
    Ok(nodes.iter().map(|node| NodeView::of(node, own)).collect())
}

/// What a store does not know that one process has for itself.
async fn fill(alone: &mut Node, state: &ApiState) -> Result<(), ApiError> {
    let settings = &state.settings.node;
    let held = state.store.held().await.map_err(|error| trouble(&error))?;
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    alone.name = settings.name.clone();
    alone.version = env!("CARGO_PKG_VERSION").to_owned();
    alone.started_at = settings.started_at;
    alone.rank = settings.fires.then_some(0);
    alone.report = NodeReport {
        fires: settings.fires,
        held: count(held.len()),
        in_flight: count(held.iter().filter(|claim| claim.begun).count()),
    };
    Ok(())
}
