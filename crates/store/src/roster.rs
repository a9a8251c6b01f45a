//! Who else is there: the nodes that share a store, and whether this one may fire.
//!
//! A node holds a *lease*: a number that is never used again, and that is good as long as the node renews it. What
//! it has claimed is its own while the lease is; when it loses the lease, others take what it had, and it must fire
//! nothing more of it. A store that one process owns has one node, of rank 0, whose lease never ends.

use std::time::Duration;

use async_trait::async_trait;
use jiff::SignedDuration;
use tokio::sync::watch;

use crate::Trouble;

/// Says where this node stands among those that share the store. What a store says that one process owns is
/// what the methods say here.
#[async_trait]
pub trait Roster: Send + Sync {
    /// Where this node stands, now and whenever that changes.
    fn standing(&self) -> watch::Receiver<Standing> {
        watch::channel(Standing::alone()).1
    }

    /// The time by which leases are judged; none where they never end.
    fn boot(&self) -> Option<BootInstant> {
        None
    }

    /// Says how this node does. It is told to others with the next renewal, and costs nothing here.
    fn report(&self, _report: NodeReport) {}

    /// All nodes with a lease, by lease.
    async fn nodes(&self) -> Result<Vec<Node>, Trouble> {
        Ok(vec![Node {
            lease: Standing::alone().lease,
            name: "this".to_owned(),
            report: NodeReport::default(),
        }])
    }

    /// Gives the lease up, after everything that was claimed is settled or given back.
    async fn leave(&self) -> Result<(), Trouble> {
        Ok(())
    }
}

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its lease. When it changes, what was claimed before is somebody else's.
    pub lease: u64,
    /// How many nodes fire.
    pub firing_count: u32,
    /// Its place among them by lease, from 0.
    pub rank: u32,
    /// Whether it may claim and fire.
    pub may_fire: bool,
    /// Until when it may begin; for ever if none.
    pub valid_until: Option<BootInstant>,
    /// How far its clock is ahead of the one that all share.
    pub clock_lead: SignedDuration,
}

impl Standing {
    /// The standing of a node that shares its store with nobody.
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

    /// Whether it keeps house and looks through all jobs: one does for all.
    pub fn first(&self) -> bool {
        self.rank == 0
    }
}

/// An instant by the clock that goes on while the machine sleeps: how long it is since the machine was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BootInstant(pub Duration);

/// How a node does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeReport {
    /// Whether it fires.
    pub fires: bool,
    /// How many claims it holds.
    pub held: u32,
    /// How many attempts it has under way.
    pub in_flight: u32,
}

/// A node as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its lease.
    pub lease: u64,
    /// What it is called.
    pub name: String,
    /// What it said last.
    pub report: NodeReport,
}
