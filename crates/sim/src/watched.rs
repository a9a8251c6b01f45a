//! A store that reports to the oracle what it really did, and injects faults before or after a call was carried
//! out.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::decide::Repair;
use punctual_model::inspect::{Census, Evidence, RecordFacts, Subject};
use punctual_model::{Clock, Collection, CollectionKey, GroupKey, Job, JobId, JobKey, Name, Skip};
use punctual_store::{
    Agenda, AheadAsk, AheadPage, Archive, BootInstant, Claim, ClaimAsk, CollectionDecision,
    CollectionEvidence, CollectionWrite, CollectionsAsk, Extent, Fence, FoundJob, Group, HeldClaim,
    HistoryAsk, HistoryCursor, JobWrite, JobsAsk, LeasedStore, Node, NodeReport, Page, Repaired, Resources,
    Roster, Settled, Settlement, Standing, Store, StoredRecord, Survey, SurveyAsk, Trouble, Unclaimed,
    UnclaimedAsk, WriteError,
};
use tokio::sync::watch;

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

    async fn read<T>(&self, read: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
        let fault = self.shared.take_fault(Call::Read);
        fault.check(When::Before)?;
        let answer = read.await;
        fault.check(When::After)?;
        answer
    }
}

#[async_trait]
impl Agenda for WatchedStore {
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

    async fn in_flight(&self, jobs: &[JobId]) -> Result<Vec<JobId>, Trouble> {
        self.store().in_flight(jobs).await
    }

    async fn ahead(&self, ask: &AheadAsk) -> Result<AheadPage, Trouble> {
        self.read(self.store().ahead(ask)).await
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

    fn changes(&self) -> watch::Receiver<u64> {
        self.store().changes()
    }
}

#[async_trait]
impl Resources for WatchedStore {
    async fn collection(&self, key: &CollectionKey) -> Result<Option<Collection>, Trouble> {
        self.read(self.shared.store().collection(key)).await
    }

    async fn collections(&self, ask: &CollectionsAsk) -> Result<Page<Collection, CollectionKey>, Trouble> {
        self.read(self.shared.store().collections(ask)).await
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

    async fn delete_collection(&self, key: &CollectionKey) -> Result<bool, Trouble> {
        self.shared.store().delete_collection(key).await
    }

    async fn find_job(&self, key: &JobKey) -> Result<FoundJob, Trouble> {
        self.read(self.shared.store().find_job(key)).await
    }

    async fn job_in_collection(&self, key: &JobKey) -> Result<Option<(Collection, Option<Job>)>, Trouble> {
        self.read(self.shared.store().job_in_collection(key)).await
    }

    async fn jobs(&self, collection: &CollectionKey, ask: &JobsAsk) -> Result<Page<Job, Name>, Trouble> {
        self.read(self.shared.store().jobs(collection, ask)).await
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

    async fn delete_job(&self, key: &JobKey) -> Result<bool, Trouble> {
        let fault = self.shared.take_fault(Call::Write);
        fault.check(When::Before)?;
        let deleted = self.shared.store().delete_job(key).await?;
        self.shared.shared_oracle.lock().deleted_job(key, deleted);
        fault.check(When::After)?;
        Ok(deleted)
    }

    async fn group(&self, key: &GroupKey) -> Result<Option<Group>, Trouble> {
        self.shared.store().group(key).await
    }

    async fn groups(&self, subscription: &Name) -> Result<Page<Group, Name>, Trouble> {
        self.shared.store().groups(subscription).await
    }

    async fn put_group(&self, group: &Group) -> Result<bool, Trouble> {
        self.shared.store().put_group(group).await
    }

    async fn delete_group(&self, key: &GroupKey) -> Result<bool, Trouble> {
        self.shared.store().delete_group(key).await
    }

    async fn unregistered(&self, subscription: &Name) -> Result<bool, Trouble> {
        self.shared.store().unregistered(subscription).await
    }

    async fn set_unregistered(&self, subscription: &Name, unregistered: bool) -> Result<(), Trouble> {
        self.shared.store().set_unregistered(subscription, unregistered).await
    }
}

#[async_trait]
impl Archive for WatchedStore {
    async fn history(&self, ask: &HistoryAsk) -> Result<Page<StoredRecord, HistoryCursor>, Trouble> {
        self.read(self.shared.store().history(ask)).await
    }

    async fn records_between(
        &self,
        job: JobId,
        from: Timestamp,
        to: Timestamp,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, Trouble> {
        self.read(self.shared.store().records_between(job, from, to, limit)).await
    }

    async fn skips(
        &self,
        job: JobId,
        from: Timestamp,
        to: Timestamp,
        limit: usize,
    ) -> Result<Vec<Skip>, Trouble> {
        self.read(self.shared.store().skips(job, from, to, limit)).await
    }

    async fn pruned_before(&self, job: JobId) -> Result<Option<Timestamp>, Trouble> {
        self.read(self.shared.store().pruned_before(job)).await
    }

    async fn prune(&self, before: Timestamp, limit: usize) -> Result<usize, Trouble> {
        let count = self.shared.store().prune(before, limit).await?;
        self.shared.shared_oracle.lock().pruned(before);
        Ok(count)
    }

    async fn prune_to(&self, keep: u32, limit: usize) -> Result<usize, Trouble> {
        self.shared.store().prune_to(keep, limit).await
    }

    async fn purge(&self, before: Timestamp, limit: usize) -> Result<usize, Trouble> {
        self.shared.store().purge(before, limit).await
    }
}

#[async_trait]
impl Survey for WatchedStore {
    async fn extent(&self) -> Result<Extent, Trouble> {
        self.shared.store().extent().await
    }

    async fn census(&self, faulted_limit: usize) -> Result<Census, Trouble> {
        self.shared.store().census(faulted_limit).await
    }

    async fn survey(&self, ask: &SurveyAsk) -> Result<Vec<Evidence>, Trouble> {
        self.shared.store().survey(ask).await
    }

    async fn survey_collections(&self, after: i64, limit: usize) -> Result<Vec<CollectionEvidence>, Trouble> {
        self.shared.store().survey_collections(after, limit).await
    }

    async fn damage(&self, subject: &Subject) -> Result<Option<String>, Trouble> {
        self.shared.store().damage(subject).await
    }

    async fn record_facts(
        &self,
        job: JobId,
        after: Option<HistoryCursor>,
        limit: usize,
    ) -> Result<Vec<(HistoryCursor, RecordFacts)>, Trouble> {
        self.shared.store().record_facts(job, after, limit).await
    }

    async fn unclaimed(&self, ask: &UnclaimedAsk) -> Result<Vec<Unclaimed>, Trouble> {
        self.shared.store().unclaimed(ask).await
    }

    async fn held(&self) -> Result<Vec<HeldClaim>, Trouble> {
        self.shared.store().held().await
    }
}

#[async_trait]
impl Roster for WatchedStore {
    fn standing(&self) -> watch::Receiver<Standing> {
        self.store().standing()
    }

    fn boot(&self) -> Option<BootInstant> {
        self.store().boot()
    }

    fn report(&self, report: NodeReport) {
        self.store().report(report);
    }

    async fn nodes(&self) -> Result<Vec<Node>, Trouble> {
        self.store().nodes().await
    }

    async fn leave(&self) -> Result<(), Trouble> {
        self.store().leave().await
    }
}
