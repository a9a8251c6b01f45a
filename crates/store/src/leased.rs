//! A store in memory that several nodes share by leases: for tests and the simulator.
//!
//! The owner of a [`Cluster`] decides when a lease ends and when its node learns of it. Between the two, others
//! may have the claims of the node, and whatever it still does has no effect.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::access::{Token, TokenId};
use punctual_model::decide::Repair;
use punctual_model::inspect::{Census, Evidence, RecordFacts, Subject};
use punctual_model::{Collection, CollectionKey, GroupKey, Job, JobId, JobKey, Name, Skip};
use tokio::sync::watch;

use crate::{
    Agenda, AheadAsk, AheadPage, Archive, BootInstant, Callers, Claim, ClaimAsk, CollectionDecision,
    CollectionEvidence, CollectionWrite, CollectionsAsk, Extent, Fence, FoundJob, Group, HeldClaim,
    HistoryAsk, HistoryCursor, JobWrite, JobsAsk, MemoryStore, Node, NodeReport, Page, Repaired, Resources,
    Roster, Settled, Settlement, Standing, StoredRecord, Survey, SurveyAsk, Trouble, Unclaimed, UnclaimedAsk,
    WriteError,
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
    fn join(&mut self) -> Standing {
        self.last += 1;
        self.live.insert(self.last, NodeReport::default());
        self.standing(self.last)
    }

    fn standing(&self, lease: u64) -> Standing {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Standing {
            lease,
            firing_count: count(self.live.len()),
            rank: count(self.live.range(..lease).count()),
            valid_until: Some(BootInstant(Duration::MAX)),
            ..Standing::alone()
        }
    }
}

/// The store as one node sees it.
pub struct LeasedStore {
    cluster: Arc<Cluster>,
    standing: watch::Sender<Standing>,
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
impl Roster for LeasedStore {
    fn standing(&self) -> watch::Receiver<Standing> {
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
        let node = |(lease, report): (&u64, &NodeReport)| Node {
            lease: *lease,
            name: lease.to_string(),
            report: *report,
        };
        Ok(leases.live.iter().map(node).collect())
    }

    async fn leave(&self) -> Result<(), Trouble> {
        self.expire().await
    }
}

#[async_trait]
impl Agenda for LeasedStore {
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

    async fn next_due(&self, full_targets: &[String]) -> Result<Option<Timestamp>, Trouble> {
        self.cluster.inner.next_due(full_targets).await
    }

    async fn in_flight(&self, jobs: &[JobId]) -> Result<Vec<JobId>, Trouble> {
        self.cluster.inner.in_flight(jobs).await
    }

    async fn ahead(&self, ask: &AheadAsk) -> Result<AheadPage, Trouble> {
        self.cluster.inner.ahead(ask).await
    }

    async fn repair(&self, repairs: Vec<Repair>) -> Result<Vec<Repaired>, Trouble> {
        self.cluster.inner.repair(repairs).await
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.cluster.inner.changes()
    }
}

/// Implements methods that do not depend on leases by calls to the shared store.
macro_rules! pass_on {
    ($trait:ident: $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        #[async_trait]
        impl $trait for LeasedStore {
            $(async fn $name(&self, $($argument: $type),*) -> $answer {
                self.cluster.inner.$name($($argument),*).await
            })*
        }
    };
}

pass_on! { Resources:
    collection(key: &CollectionKey) -> Result<Option<Collection>, Trouble>;
    collections(ask: &CollectionsAsk) -> Result<Page<Collection, CollectionKey>, Trouble>;
    put_collection(write: CollectionWrite) -> Result<Collection, WriteError>;
    edit_collection(key: &CollectionKey, decide: CollectionDecision) -> Result<Collection, WriteError>;
    delete_collection(key: &CollectionKey) -> Result<bool, Trouble>;
    find_job(key: &JobKey) -> Result<FoundJob, Trouble>;
    job_in_collection(key: &JobKey) -> Result<Option<(Collection, Option<Job>)>, Trouble>;
    jobs(collection: &CollectionKey, ask: &JobsAsk) -> Result<Page<Job, Name>, Trouble>;
    put_job(write: JobWrite) -> Result<Job, WriteError>;
    delete_job(key: &JobKey) -> Result<bool, Trouble>;
    group(key: &GroupKey) -> Result<Option<Group>, Trouble>;
    groups(subscription: &Name) -> Result<Page<Group, Name>, Trouble>;
    put_group(group: &Group) -> Result<bool, Trouble>;
    delete_group(key: &GroupKey) -> Result<bool, Trouble>;
    unregistered(subscription: &Name) -> Result<bool, Trouble>;
    set_unregistered(subscription: &Name, unregistered: bool) -> Result<(), Trouble>;
}

pass_on! { Archive:
    history(ask: &HistoryAsk) -> Result<Page<StoredRecord, HistoryCursor>, Trouble>;
    records_between(job: JobId, from: Timestamp, to: Timestamp, limit: usize) -> Result<Vec<StoredRecord>, Trouble>;
    pruned_before(job: JobId) -> Result<Option<Timestamp>, Trouble>;
    skips(job: JobId, from: Timestamp, to: Timestamp, limit: usize) -> Result<Vec<Skip>, Trouble>;
    prune(before: Timestamp, limit: usize) -> Result<usize, Trouble>;
    prune_to(keep: u32, limit: usize) -> Result<usize, Trouble>;
    purge(before: Timestamp, limit: usize) -> Result<usize, Trouble>;
}

#[async_trait]
impl Callers for LeasedStore {
    async fn tokens(&self) -> Result<Vec<Token>, Trouble> {
        self.cluster.inner.tokens().await
    }

    async fn create_token(&self, token: &Token) -> Result<(), WriteError> {
        self.cluster.inner.create_token(token).await
    }

    async fn replace_token(&self, token: &Token) -> Result<bool, Trouble> {
        self.cluster.inner.replace_token(token).await
    }

    async fn delete_token(&self, id: &TokenId) -> Result<bool, Trouble> {
        self.cluster.inner.delete_token(id).await
    }

    async fn note_token_uses(&self, uses: &[(TokenId, Timestamp)]) -> Result<(), Trouble> {
        self.cluster.inner.note_token_uses(uses).await
    }

    fn token_changes(&self) -> watch::Receiver<u64> {
        self.cluster.inner.token_changes()
    }
}

#[async_trait]
impl Survey for LeasedStore {
    async fn extent(&self) -> Result<Extent, Trouble> {
        self.cluster.inner.extent().await
    }

    async fn census(&self, faulted_limit: usize) -> Result<Census, Trouble> {
        self.cluster.inner.census(faulted_limit).await
    }

    async fn survey(&self, ask: &SurveyAsk) -> Result<Vec<Evidence>, Trouble> {
        self.cluster.inner.survey(ask).await
    }

    async fn survey_collections(&self, after: i64, limit: usize) -> Result<Vec<CollectionEvidence>, Trouble> {
        self.cluster.inner.survey_collections(after, limit).await
    }

    async fn damage(&self, subject: &Subject) -> Result<Option<String>, Trouble> {
        self.cluster.inner.damage(subject).await
    }

    async fn record_facts(
        &self,
        job: JobId,
        after: Option<HistoryCursor>,
        limit: usize,
    ) -> Result<Vec<(HistoryCursor, RecordFacts)>, Trouble> {
        self.cluster.inner.record_facts(job, after, limit).await
    }

    async fn unclaimed(&self, ask: &UnclaimedAsk) -> Result<Vec<Unclaimed>, Trouble> {
        self.cluster.inner.unclaimed(ask).await
    }

    async fn held(&self) -> Result<Vec<HeldClaim>, Trouble> {
        let mut held = self.cluster.inner.held().await?;
        let (lease, leases) = (self.lease(), self.cluster.leases());
        held.retain(|claim| leases.holders.get(&claim.fence) == Some(&lease));
        Ok(held)
    }
}
