//! A store that reports to the oracle what it really did, and injects faults before or after a call was carried
//! out.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::audit::AuditEntry;
use punctual_model::decide::Repair;
use punctual_model::{Clock, Collection, CollectionKey, Job, JobKey};
use punctual_store::{
    Claim, ClaimAsk, CollectionDecision, CollectionWrite, Fence, HeldClaim, JobWrite, Layer, LeasedStore,
    Repaired, Settled, Settlement, Store, Trouble, WriteError,
};

use crate::clock::NodeClock;
use crate::gate::Gate;
use crate::op::{Call, Kind, Point, When};
use crate::oracle::{Claimed, Settling, SharedOracle};

/// What all callers of the store share.
#[derive(Clone)]
pub(crate) struct Shared {
    store: Arc<Mutex<Option<Arc<dyn Store>>>>,
    faults: Arc<Mutex<Vec<(Call, When, Kind)>>>,
    pub(crate) shared_oracle: SharedOracle,
}

impl Shared {
    pub(crate) fn new(store: Arc<dyn Store>, shared_oracle: SharedOracle) -> Self {
        Self { store: Arc::new(Mutex::new(Some(store))), faults: Arc::default(), shared_oracle }
    }

    /// The store itself, without faults.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(store.as_ref().expect("a world that goes on has a store"))
    }

    /// Closes the store and puts another in its place.
    pub(crate) fn replace(&self, open: impl FnOnce() -> Arc<dyn Store>) {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        // The old one is closed before the new one is opened: a directory has one owner.
        *store = None;
        *store = Some(open());
    }

    pub(crate) fn add_fault(&self, call: Call, when: When, kind: Kind) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push((call, when, kind));
    }

    pub(crate) fn clear_faults(&self) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn take_fault(&self, call: Call) -> Fault {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let found = faults.iter().position(|(of, _, _)| *of == call);
        Fault(found.map(|index| faults.remove(index)))
    }
}

/// The fault of one call.
struct Fault(Option<(Call, When, Kind)>);

impl Fault {
    fn check(&self, at: When) -> Result<(), Trouble> {
        match self.0 {
            Some((call, when, kind)) if when == at => Err(trouble(call, kind)),
            Some(_) | None => Ok(()),
        }
    }

    /// Whether it panics after the call was carried out.
    fn panics_after(&self) -> bool {
        matches!(self.0, Some((_, When::After, Kind::Panic)))
    }
}

fn trouble(call: Call, kind: Kind) -> Trouble {
    let doing = "go on in spite of a fault";
    match kind {
        Kind::Panic if !matches!(call, Call::Read | Call::Write) => {
            panic!("{call:?} panics, as the history says")
        }
        Kind::Busy => Trouble::Busy { doing },
        Kind::Full => Trouble::Full { doing },
        Kind::Closed | Kind::Panic => Trouble::Closed { doing },
    }
}

/// The calls that fail as a read.
const READS: [&str; 10] = [
    "collection",
    "collections",
    "find_job",
    "job_in_collection",
    "jobs",
    "history",
    "records_between",
    "skips",
    "pruned_before",
    "ahead",
];

/// The store as one caller sees it.
pub(crate) struct WatchedStore {
    /// The node that calls; none for the API.
    pub(crate) node: Option<usize>,
    /// Its own way to the store, where nodes have leases.
    pub(crate) leased: Option<Arc<LeasedStore>>,
    pub(crate) gate: Gate,
    pub(crate) clock: NodeClock,
    pub(crate) shared: Shared,
}

impl WatchedStore {
    /// The store itself, without faults.
    fn store(&self) -> Arc<dyn Store> {
        match &self.leased {
            Some(leased) => Arc::clone(leased) as Arc<dyn Store>,
            None => self.shared.store(),
        }
    }

    /// Makes a call that nothing is learnt from, with the fault of a read if it is one.
    async fn pass_on<T, E: From<Trouble>>(
        &self,
        call: &'static str,
        made: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        if !READS.contains(&call) {
            return made.await;
        }
        let fault = self.shared.take_fault(Call::Read);
        fault.check(When::Before)?;
        let answer = made.await;
        fault.check(When::After)?;
        answer
    }
}

#[async_trait]
impl Layer for WatchedStore {
    fn below(&self) -> Arc<dyn Store> {
        self.store()
    }

    fn around<T: Send, E: From<Trouble> + Send>(
        &self,
        call: &'static str,
        made: impl Future<Output = Result<T, E>> + Send,
    ) -> impl Future<Output = Result<T, E>> + Send {
        self.pass_on(call, made)
    }

    async fn claim(&self, ask: &ClaimAsk) -> Result<Vec<Claim>, Trouble> {
        let fault = self.shared.take_fault(Call::Claim);
        fault.check(When::Before)?;
        let claims = self.store().claim(ask).await?;
        let claimed = claims.iter().map(Claimed::of).collect();
        self.shared.shared_oracle.lock().claimed(self.node.unwrap_or(usize::MAX), claimed, self.clock.now());
        // What a panic leaves behind, nobody gives back but the end of the process.
        if !fault.panics_after()
            && let Err(trouble) = fault.check(When::After)
        {
            let fences: Vec<Fence> = claims.iter().map(|claim| claim.fence).collect();
            self.store().release(&fences).await?;
            self.shared.shared_oracle.lock().released(&fences);
            return Err(trouble);
        }
        fault.check(When::After)?;
        self.gate.pass(Point::Claimed).await;
        Ok(claims)
    }

    async fn begin(&self, fences: &[Fence]) -> Result<Vec<bool>, Trouble> {
        let fault = self.shared.take_fault(Call::Begin);
        fault.check(When::Before)?;
        let holds = self.store().begin(fences).await?;
        self.shared.shared_oracle.lock().begun(fences, &holds);
        fault.check(When::After)?;
        self.gate.pass(Point::Begun).await;
        Ok(holds)
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>, Trouble> {
        self.gate.pass(Point::Queued).await;
        let fault = self.shared.take_fault(Call::Settle);
        fault.check(When::Before)?;
        let answers = self.store().settle(settlements.clone()).await?;
        for (settlement, answer) in settlements.iter().zip(&answers) {
            self.shared.shared_oracle.lock().settled(&Settling::of(settlement), answer);
        }
        fault.check(When::After)?;
        self.gate.pass(Point::Settled).await;
        Ok(answers)
    }

    async fn release(&self, fences: &[Fence]) -> Result<(), Trouble> {
        let fault = self.shared.take_fault(Call::Release);
        fault.check(When::Before)?;
        self.store().release(fences).await?;
        self.shared.shared_oracle.lock().released(fences);
        fault.check(When::After)
    }

    async fn next_due(&self, full_targets: &[String]) -> Result<Option<Timestamp>, Trouble> {
        let fault = self.shared.take_fault(Call::NextDue);
        fault.check(When::Before)?;
        let due_at = self.store().next_due(full_targets).await?;
        fault.check(When::After)?;
        Ok(due_at)
    }

    async fn repair(&self, repairs: Vec<Repair>) -> Result<Vec<Repaired>, Trouble> {
        let fault = self.shared.take_fault(Call::Write);
        fault.check(When::Before)?;
        let store = self.store();
        let mut states = Vec::with_capacity(repairs.len());
        for repair in &repairs {
            let found = store.job_in_collection(&repair.job.key).await?;
            states.push(found.and_then(|(_, job)| job).map(|job| job.state));
        }
        let answers = store.repair(repairs.clone()).await?;
        for ((repair, answer), state) in repairs.iter().zip(&answers).zip(states) {
            if *answer == Repaired::Written {
                let states = (state.unwrap_or(repair.job.state), repair.job.state);
                self.shared.shared_oracle.lock().repaired(repair.job.id, repair.withdrawn.after, states);
            }
        }
        fault.check(When::After)?;
        Ok(answers)
    }

    async fn put_collection(&self, write: CollectionWrite) -> Result<Collection, WriteError> {
        let fault = self.shared.take_fault(Call::Write);
        fault.check(When::Before)?;
        let skips = write.skips.clone();
        let written = self.shared.store().put_collection(write).await?;
        self.shared.shared_oracle.lock().wrote_collection(&written, &skips);
        fault.check(When::After)?;
        Ok(written)
    }

    async fn edit_collection(
        &self,
        key: &CollectionKey,
        mut decide: CollectionDecision,
    ) -> Result<Collection, WriteError> {
        let fault = self.shared.take_fault(Call::Write);
        fault.check(When::Before)?;
        let skips = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&skips);
        let watched: CollectionDecision = Box::new(move |collection, jobs| {
            let write = decide(collection, jobs)?;
            *noted.lock().unwrap_or_else(PoisonError::into_inner) = write.skips.clone();
            Some(write)
        });
        let written = self.shared.store().edit_collection(key, watched).await?;
        let skips = std::mem::take(&mut *skips.lock().unwrap_or_else(PoisonError::into_inner));
        self.shared.shared_oracle.lock().wrote_collection(&written, &skips);
        fault.check(When::After)?;
        Ok(written)
    }

    async fn put_job(&self, write: JobWrite) -> Result<Job, WriteError> {
        let fault = self.shared.take_fault(Call::Write);
        fault.check(When::Before)?;
        let skips = write.skips.clone();
        let written = self.shared.store().put_job(write).await?;
        self.shared.shared_oracle.lock().wrote_job(written.id, &written.key, &skips);
        fault.check(When::After)?;
        Ok(written)
    }

    async fn delete_job(&self, key: &JobKey, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let fault = self.shared.take_fault(Call::Write);
        fault.check(When::Before)?;
        let deleted = self.shared.store().delete_job(key, note).await?;
        self.shared.shared_oracle.lock().deleted_job(key, deleted);
        fault.check(When::After)?;
        Ok(deleted)
    }

    async fn prune(&self, before: Timestamp, limit: usize) -> Result<usize, Trouble> {
        let count = self.shared.store().prune(before, limit).await?;
        self.shared.shared_oracle.lock().pruned(before);
        Ok(count)
    }

    async fn held(&self) -> Result<Vec<HeldClaim>, Trouble> {
        self.shared.store().held().await
    }
}
