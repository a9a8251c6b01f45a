//! A store in memory that several nodes share by leases: for tests and the simulator.
//!
//! The owner of a [`Cluster`] decides when a lease ends and when its node learns of it. Between the two, others
//! may have the claims of the node, and whatever it still does has no effect.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;

use crate::{
    Agenda, BootInstant, Claim, ClaimAsk, Fence, HeldClaim, Layer, MemoryStore, Node, NodeReport,
    NodeStanding, Settled, Settlement, Store, Survey, Trouble,
};

/// What the nodes share.
#[derive(Default)]
pub struct Cluster {
    inner: Arc<MemoryStore>,
    leases: Mutex<Leases>,
}

#[derive(Default)]
struct Leases {
    last: u64,
    live: BTreeMap<u64, NodeReport>,
    holders: HashMap<Fence, u64>,
}

impl Cluster {
    /// The store itself, without leases.
    pub fn shared_store(&self) -> Arc<MemoryStore> {
        Arc::clone(&self.inner)
    }

    /// A new node.
    pub fn join(self: &Arc<Self>) -> LeasedStore {
        let standing = self.leases().join();
        LeasedStore {
            cluster: Arc::clone(self),
            standing: watch::Sender::new(standing),
            boot: Mutex::new(Duration::ZERO),
        }
    }

    fn leases(&self) -> MutexGuard<'_, Leases> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a lease: its claims are free.
    async fn end(&self, lease: u64) -> Result<(), Trouble> {
        let fences: Vec<Fence> = {
            let mut leases = self.leases();
            leases.live.remove(&lease);
            leases.holders.extract_if(|_, holder| *holder == lease).map(|(fence, _)| fence).collect()
        };
        self.inner.release(&fences).await
    }
}

impl Leases {
    fn join(&mut self) -> NodeStanding {
        self.last += 1;
        self.live.insert(self.last, NodeReport::default());
        self.standing(self.last)
    }

    fn standing(&self, lease: u64) -> NodeStanding {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        NodeStanding {
            lease,
            firing_count: count(self.live.len()),
            rank: count(self.live.range(..lease).count()),
            valid_until: Some(BootInstant(Duration::MAX)),
            ..NodeStanding::alone()
        }
    }
}

/// The store as one node sees it.
pub struct LeasedStore {
    cluster: Arc<Cluster>,
    standing: watch::Sender<NodeStanding>,
    boot: Mutex<Duration>,
}

impl LeasedStore {
    /// The lease that the node believes to have.
    fn lease(&self) -> u64 {
        self.standing.borrow().lease
    }

    fn live(&self) -> bool {
        self.cluster.leases().live.contains_key(&self.lease())
    }

    /// Ends its lease. The node does not know that yet.
    pub async fn expire(&self) -> Result<(), Trouble> {
        self.cluster.end(self.lease()).await
    }

    /// Renews the lease; if it has ended, the node joins again with a new one.
    pub fn renew(&self) {
        let lease = self.lease();
        let mut leases = self.cluster.leases();
        let standing = if leases.live.contains_key(&lease) { leases.standing(lease) } else { leases.join() };
        drop(leases);
        self.standing.send_if_modified(|old| std::mem::replace(old, standing) != standing);
    }

    /// Sets the time since its machine was started.
    pub fn tell_boot(&self, boot: Duration) {
        *self.boot.lock().unwrap_or_else(PoisonError::into_inner) = boot;
    }
}

#[async_trait]
impl Layer for LeasedStore {
    fn below(&self) -> Arc<dyn Store> {
        self.cluster.shared_store()
    }

    async fn claim(&self, ask: &ClaimAsk) -> Result<Vec<Claim>, Trouble> {
        if !self.live() {
            return Ok(Vec::new());
        }
        let claims = self.cluster.inner.claim(ask).await?;
        let lease = self.lease();
        self.cluster.leases().holders.extend(claims.iter().map(|claim| (claim.fence, lease)));
        if !self.live() {
            self.cluster.end(lease).await?;
            return Ok(Vec::new());
        }
        Ok(claims)
    }

    async fn begin(&self, fences: &[Fence]) -> Result<Vec<bool>, Trouble> {
        if !self.live() {
            return Ok(vec![false; fences.len()]);
        }
        self.cluster.inner.begin(fences).await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>, Trouble> {
        let fences: Vec<Fence> = settlements.iter().map(|settlement| settlement.fence).collect();
        let answers = self.cluster.inner.settle(settlements).await?;
        let mut leases = self.cluster.leases();
        for (fence, answer) in fences.iter().zip(&answers) {
            if !matches!(answer, Settled::Changed(..)) {
                leases.holders.remove(fence);
            }
        }
        Ok(answers)
    }

    async fn release(&self, fences: &[Fence]) -> Result<(), Trouble> {
        {
            let mut leases = self.cluster.leases();
            for fence in fences {
                leases.holders.remove(fence);
            }
        }
        self.cluster.inner.release(fences).await
    }

    async fn held(&self) -> Result<Vec<HeldClaim>, Trouble> {
        let mut held = self.cluster.inner.held().await?;
        let (lease, leases) = (self.lease(), self.cluster.leases());
        held.retain(|claim| leases.holders.get(&claim.fence) == Some(&lease));
        Ok(held)
    }

    fn standing(&self) -> watch::Receiver<NodeStanding> {
        self.standing.subscribe()
    }

    fn boot(&self) -> Option<BootInstant> {
        Some(BootInstant(*self.boot.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn report(&self, report: NodeReport) {
        if let Some(known) = self.cluster.leases().live.get_mut(&self.lease()) {
            *known = report;
        }
    }

    async fn nodes(&self) -> Result<Vec<Node>, Trouble> {
        let leases = self.cluster.leases();
        let node = |(lease, report): (&u64, &NodeReport)| Node::new(*lease, lease.to_string(), *report);
        Ok(leases.live.iter().map(node).collect())
    }

    async fn leave(&self) -> Result<(), Trouble> {
        self.expire().await
    }
}
