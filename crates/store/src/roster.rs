//! The roster: the nodes that share a store, and whether this one may fire.
//!
//! A node holds a *lease*: a number that is never used again, and that is valid while the node renews it. Its
//! claims are its own while the lease is valid; when it loses the lease, others claim what it had, and it must
//! fire nothing more of it. A store that is owned by one process has one node, of rank 0, whose lease never
//! ends.

use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use punctual_model::audit::AuditEntry;
use tokio::sync::watch;

use crate::Trouble;

/// Tells where this node stands among those that share the store. The default methods are those of a store that
/// is owned by one process.
#[async_trait]
pub trait Roster: Send + Sync {
    /// The standing of this node, now and whenever it changes.
    fn standing(&self) -> watch::Receiver<NodeStanding> {
        watch::channel(NodeStanding::alone()).1
    }

    /// The time by which leases are judged; none if they never end.
    fn boot(&self) -> Option<BootInstant> {
        None
    }

    /// Why this node does not fire, as a sentence without its end; none if it may, or if somebody has drained it.
    fn node_problem(&self) -> Option<String> {
        None
    }

    /// Reports the state of this node. Others read it after the next renewal; it costs nothing here.
    fn report(&self, _report: NodeReport) {}

    /// All nodes with a lease, by lease.
    async fn nodes(&self) -> Result<Vec<Node>, Trouble> {
        let alone = NodeStanding::alone();
        Ok(vec![Node { rank: Some(alone.rank), ..Node::new(alone.lease, "this", NodeReport::default()) }])
    }

    /// Has the nodes of a name fire nothing from now on, or fire again; they go on serving. False if there is none. It lasts
    /// until the node is started again. A store that one process owns refuses.
    async fn drain(&self, _name: &str, _drained: bool, _note: Option<AuditEntry>) -> Result<bool, Trouble> {
        Ok(false)
    }

    /// Gives the lease up, after every claim is settled or given back.
    async fn leave(&self) -> Result<(), Trouble> {
        Ok(())
    }
}

/// Where a node stands among those that share the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeStanding {
    /// Its lease. When it changes, earlier claims belong to others.
    pub lease: u64,
    /// How many nodes fire.
    pub firing_count: u32,
    /// Its position among them by lease, from 0.
    pub rank: u32,
    /// Whether it may claim and fire.
    pub may_fire: bool,
    /// Until when it may begin claims; forever if none.
    pub valid_until: Option<BootInstant>,
    /// How far its clock is ahead of the shared one.
    pub clock_lead: SignedDuration,
}

impl NodeStanding {
    /// The standing of a node that does not share its store.
    pub fn alone() -> Self {
        Self {
            lease: 1,
            firing_count: 1,
            rank: 0,
            may_fire: true,
            valid_until: None,
            clock_lead: SignedDuration::ZERO,
        }
    }

    /// Whether it does the housekeeping and the passes over all jobs, which one node does for all.
    pub fn first(&self) -> bool {
        self.rank == 0
    }
}

/// An instant of the clock that includes suspension: the time since the machine was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BootInstant(pub Duration);

/// The state of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeReport {
    /// Whether it fires.
    pub fires: bool,
    /// How many claims it holds.
    pub held: u32,
    /// How many attempts it has in flight.
    pub in_flight: u32,
}

/// A node as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its lease.
    pub lease: u64,
    /// What it is called.
    pub name: String,
    /// Its last report.
    pub report: NodeReport,
    /// Its position among those that fire, by lease; none if it does not.
    pub rank: Option<u32>,
    /// The version of its program.
    pub version: String,
    /// When it was started, if that is known.
    pub started_at: Option<Timestamp>,
    /// How long ago it renewed its lease.
    pub beat_age: Duration,
    /// How far its clock is ahead of the shared one.
    pub clock_lead: SignedDuration,
    /// Why it does not fire; none if it does, or if it is not its part.
    pub problem: Option<String>,
    /// Whether somebody has drained it.
    pub drained: bool,
    /// Where it serves the API; empty if that is not known.
    pub url: String,
}

impl Node {
    /// A node of which nothing else is known.
    pub fn new(lease: u64, name: impl Into<String>, report: NodeReport) -> Self {
        Self {
            lease,
            name: name.into(),
            report,
            rank: None,
            version: String::new(),
            started_at: None,
            beat_age: Duration::ZERO,
            clock_lead: SignedDuration::ZERO,
            problem: None,
            drained: false,
            url: String::new(),
        }
    }
}
