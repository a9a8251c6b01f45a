//! The oracle: what must be, to compare with what is.
//!
//! It is told everything that callers asked for and everything that the store really did, and derives from that
//! and the timetables alone what the state of each job must be. It shares no code with the decisions: a wrong
//! rule there is not wrong here.
//!
//! - [`account`]: one job: its definition, spans, occurrences, records.
//! - [`span`]: a time in which the schedule of a job was enabled; every occurrence in it has one outcome.
//! - [`claim`]: a claim from the agenda to its end.
//! - [`repair`]: a job that is ahead of the clock.
//! - [`judge`]: compares what a read shows with the account.
//! - [`observation`]: what it is told. A world reports it as it happens; of a real process much is found out
//!   later, see [`evidence`](crate::evidence).

mod account;
mod claim;
mod judge;
mod observation;
mod repair;
mod settle;
mod span;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use punctual_model::{Cause, Collection, CollectionKey, JobId, JobKey, JobSpec, Limits, Skip, Sku};

pub(crate) use self::account::Account;
use self::claim::TrackedClaim;
pub(crate) use self::observation::{Claimed, SeenFiring, Settling, Shown};

/// The oracle, shared by all that report to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedOracle(Arc<Mutex<Oracle>>);

impl SharedOracle {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Oracle> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often something happened that a history may or may not come to.
pub type Coverage = BTreeMap<&'static str, u64>;

/// What many histories must come to, or they prove little.
pub const COVERED_EVENTS: [&str; 25] = [
    "a claim was taken back by an edit",
    "a claim was lost",
    "a newer occurrence was taken",
    "a retry was made",
    "a run was made",
    "an attempt was fired again",
    "an edit passed something over",
    "an error action was made",
    "an occurrence was postponed",
    "a settlement came too late",
    "a settlement found its job deleted",
    "a settlement found its job edited",
    "a settlement was of an older generation",
    "a job became completed",
    "a job became faulted",
    "something was skipped as missed",
    "something was skipped as overlapping",
    "the collection was full",
    "a job was purged",
    "a job was put back to the clock",
    "a job went on that had ended ahead of the clock",
    "a skip ahead of the clock was withdrawn",
    "something started ahead of the clock was passed",
    "history was pruned",
    "a node ended because a task of it had, and was started anew",
];

/// What a write is meant to do.
#[derive(Clone, Debug)]
pub(crate) enum Intent {
    Put { spec: JobSpec, at: Timestamp },
    Patch { spec: JobSpec, at: Timestamp },
    Run,
    Collection { at: Timestamp },
}

/// A collection as it must be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedCollection {
    pub(crate) on: bool,
    pub(crate) sku: Sku,
    pub(crate) job_count_max: u32,
}

/// What a tag identifies: a step of an occurrence of a job.
type Tagged = (JobId, Cause, Timestamp, u8);

/// What must be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Oracle {
    pub(crate) accounts: BTreeMap<JobId, Account>,
    ids: BTreeMap<JobKey, JobId>,
    used: BTreeSet<JobId>,
    collections: BTreeMap<CollectionKey, ExpectedCollection>,
    tracked_claims: BTreeMap<u64, TrackedClaim>,
    tags: HashMap<Tagged, String>,
    tagged: HashMap<String, Tagged>,
    intent: Option<Intent>,
    unsteady: bool,
    attempt_count: u64,
    coverage: Coverage,
    problems: Vec<String>,
}

impl Oracle {
    /// All problems so far.
    pub(crate) fn problems(&self) -> &[String] {
        &self.problems
    }

    /// From now on clocks can't be compared: one was set back, or one has a skew.
    pub(crate) fn lose_steadiness(&mut self) {
        self.unsteady = true;
    }

    /// The number of attempts.
    pub(crate) fn attempt_count(&self) -> u64 {
        self.attempt_count
    }

    /// Counts an event for the coverage.
    pub(crate) fn cover(&mut self, what: &'static str) {
        *self.coverage.entry(what).or_default() += 1;
    }

    /// What was covered.
    pub(crate) fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// Whether no clock was ever set back or had a skew.
    pub(crate) fn steady(&self) -> bool {
        !self.unsteady
    }

    pub(crate) fn account(&self, key: &JobKey) -> Option<&Account> {
        self.ids.get(key).and_then(|id| self.accounts.get(id))
    }

    pub(crate) fn collection(&self, key: &CollectionKey) -> Option<ExpectedCollection> {
        self.collections.get(key).copied()
    }

    pub(crate) fn job_count(&self, key: &CollectionKey) -> usize {
        self.accounts.values().filter(|account| account.key.collection == *key).count()
    }

    /// Announces what the next write is meant to do.
    pub(crate) fn intend(&mut self, intent: Intent) {
        self.intent = Some(intent);
    }

    /// A write of a job was carried out, whether or not its caller was told.
    pub(crate) fn wrote_job(&mut self, id: JobId, key: &JobKey, skips: &[Skip]) {
        if !skips.is_empty() {
            self.cover("an edit passed something over");
        }
        let Some(expected_collection) = self.collection(&key.collection) else {
            self.blame(key, "was written into a collection that is not there");
            return;
        };
        match self.intent.take() {
            Some(Intent::Put { spec, at }) => self.wrote_put(id, key, (spec, at), expected_collection, skips),
            Some(Intent::Patch { spec, at }) => {
                let Some(account) = self.known(id, key) else { return };
                let problems = account.patched(spec, at, expected_collection.on, skips);
                self.extend(problems);
            }
            Some(Intent::Run) => {
                if let Some(account) = self.known(id, key) {
                    account.edits += 1;
                    account.runs_accepted += 1;
                }
            }
            Some(Intent::Collection { .. }) | None => self.blame(key, "was written by nobody"),
        }
    }

    fn wrote_put(
        &mut self,
        id: JobId,
        key: &JobKey,
        (spec, at): (JobSpec, Timestamp),
        expected_collection: ExpectedCollection,
        skips: &[Skip],
    ) {
        if let Some(known) = self.ids.get(key).copied() {
            if known != id {
                self.blame(key, "became another job by an update");
            }
            let Some(account) = self.accounts.get_mut(&known) else { return };
            let problems = account.put_again(spec, at, expected_collection.on, skips);
            self.extend(problems);
            return;
        }
        if !self.used.insert(id) {
            self.blame(key, "got an id that was used before");
        }
        if self.job_count(&key.collection) >= expected_collection.job_count_max as usize {
            self.blame(key, "is one more than its collection may have");
        }
        self.ids.insert(key.clone(), id);
        self.accounts.insert(id, Account::new(key.clone(), spec, at, expected_collection.on));
    }

    /// A job was deleted, or did not exist.
    pub(crate) fn deleted_job(&mut self, key: &JobKey, deleted: bool) {
        let id = self.ids.remove(key);
        if id.is_some() != deleted {
            self.problems.push(format!(
                "{}: a deletion found {deleted}, it must be {}",
                key.name,
                id.is_some()
            ));
        }
        if let Some(id) = id {
            self.accounts.remove(&id);
        }
    }

    /// Old history is deleted, piece by piece until all is gone.
    pub(crate) fn pruned(&mut self, before: Timestamp) {
        let count: usize = self.accounts.values_mut().map(|account| account.prune(before)).sum();
        if count > 0 {
            self.cover("history was pruned");
        }
    }

    /// A collection was written with the jobs that its switch changes.
    pub(crate) fn wrote_collection(&mut self, collection: &Collection, skips: &[Skip]) {
        let Some(Intent::Collection { at }) = self.intent.take() else {
            self.problems.push(format!("{}: a collection was written by nobody", collection.key.name));
            return;
        };
        let on = collection.enabled();
        let expected_collection = ExpectedCollection {
            on,
            sku: collection.sku,
            job_count_max: collection.job_count_max(&Limits::default()),
        };
        let before = self.collections.insert(collection.key.clone(), expected_collection);
        if before.is_none_or(|before| before.on == on) {
            return;
        }
        let mut problems = Vec::new();
        for (id, account) in &mut self.accounts {
            if account.key.collection == collection.key {
                let own: Vec<Skip> = skips.iter().filter(|skip| skip.job == *id).cloned().collect();
                problems.extend(account.switched(on, at, &own));
            }
        }
        self.extend(problems);
    }

    fn known(&mut self, id: JobId, key: &JobKey) -> Option<&mut Account> {
        if !self.accounts.contains_key(&id) {
            self.blame(key, "was edited and is not known");
        }
        self.accounts.get_mut(&id)
    }

    pub(crate) fn blame(&mut self, key: &JobKey, what: &str) {
        self.problems.push(format!("{}: {what}", key.name));
    }

    pub(crate) fn extend(&mut self, problems: Vec<String>) {
        self.problems.extend(problems);
    }
}
