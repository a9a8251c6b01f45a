//! The ledger: what must be, kept beside what is.
//!
//! It learns of everything that the callers asked for and of everything that the store really did, and
//! from that and the timetables alone it says what each job's state must be. It shares no code with the
//! decisions: a rule that is wrong there is not wrong here.
//!
//! - [`account`]: one job: its definition, spans, occurrences, records.
//! - [`span`]: a time in which the schedule of a job was on; every occurrence in it has one outcome.
//! - [`hold`]: a claim from the agenda to its end.
//! - [`repair`]: what is made of a job that has come further than the clock.
//! - [`judge`]: what a read shows, compared with the account.
//! - [`observation`]: what it is told. A world tells it all of that as it happens; of a real process much is
//!   found out later, see [`evidence`](crate::evidence).

mod account;
mod hold;
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
use self::hold::Hold;
pub(crate) use self::observation::{Claimed, Settling, Shooting, Shown};

/// The ledger, shared by whoever sees something.
#[derive(Clone, Debug, Default)]
pub(crate) struct Book(Arc<Mutex<Ledger>>);

impl Book {
    pub(crate) fn open(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often something was seen that a history may or may not come to.
pub type Sights = BTreeMap<&'static str, u64>;

/// What many histories must come to, or they show little.
pub const SIGHTS: [&str; 24] = [
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
pub(crate) struct Shelf {
    pub(crate) on: bool,
    pub(crate) sku: Sku,
    pub(crate) job_count_max: u32,
}

/// What a tag stands for: a step of an occurrence of a job.
type Tagged = (JobId, Cause, Timestamp, u8);

/// What must be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) accounts: BTreeMap<JobId, Account>,
    ids: BTreeMap<JobKey, JobId>,
    used: BTreeSet<JobId>,
    shelves: BTreeMap<CollectionKey, Shelf>,
    holds: BTreeMap<u64, Hold>,
    tags: HashMap<Tagged, String>,
    tagged: HashMap<String, Tagged>,
    intent: Option<Intent>,
    unsteady: bool,
    shot_count: u64,
    sights: Sights,
    problems: Vec<String>,
}

impl Ledger {
    /// What is wrong so far.
    pub(crate) fn problems(&self) -> &[String] {
        &self.problems
    }

    /// From now on clocks can't be compared: one was set back, or one is off.
    pub(crate) fn lose_steadiness(&mut self) {
        self.unsteady = true;
    }

    /// How many attempts were made.
    pub(crate) fn shot_count(&self) -> u64 {
        self.shot_count
    }

    /// Notes something that is worth seeing.
    pub(crate) fn see(&mut self, what: &'static str) {
        *self.sights.entry(what).or_default() += 1;
    }

    /// What was seen.
    pub(crate) fn sights(&self) -> &Sights {
        &self.sights
    }

    /// Whether clocks were never set back and never off.
    pub(crate) fn steady(&self) -> bool {
        !self.unsteady
    }

    pub(crate) fn account(&self, key: &JobKey) -> Option<&Account> {
        self.ids.get(key).and_then(|id| self.accounts.get(id))
    }

    pub(crate) fn shelf(&self, key: &CollectionKey) -> Option<Shelf> {
        self.shelves.get(key).copied()
    }

    pub(crate) fn job_count(&self, key: &CollectionKey) -> usize {
        self.accounts.values().filter(|account| account.key.collection == *key).count()
    }

    /// Says what the next write is meant to do.
    pub(crate) fn intend(&mut self, intent: Intent) {
        self.intent = Some(intent);
    }

    /// A write of a job was carried out, whether its caller was told or not.
    pub(crate) fn wrote_job(&mut self, id: JobId, key: &JobKey, skips: &[Skip]) {
        if !skips.is_empty() {
            self.see("an edit passed something over");
        }
        let Some(shelf) = self.shelf(&key.collection) else {
            self.blame(key, "was written into a collection that is not there");
            return;
        };
        match self.intent.take() {
            Some(Intent::Put { spec, at }) => self.wrote_put(id, key, (spec, at), shelf, skips),
            Some(Intent::Patch { spec, at }) => {
                let Some(account) = self.known(id, key) else { return };
                let problems = account.patched(spec, at, shelf.on, skips);
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
        shelf: Shelf,
        skips: &[Skip],
    ) {
        if let Some(known) = self.ids.get(key).copied() {
            if known != id {
                self.blame(key, "became another job by an update");
            }
            let Some(account) = self.accounts.get_mut(&known) else { return };
            let problems = account.put_again(spec, at, shelf.on, skips);
            self.extend(problems);
            return;
        }
        if !self.used.insert(id) {
            self.blame(key, "got an id that was used before");
        }
        if self.job_count(&key.collection) >= shelf.job_count_max as usize {
            self.blame(key, "is one more than its collection may have");
        }
        self.ids.insert(key.clone(), id);
        self.accounts.insert(id, Account::new(key.clone(), spec, at, shelf.on));
    }

    /// A job was deleted, or was not there.
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

    /// Old history is let go of, piece by piece until all is gone.
    pub(crate) fn pruned(&mut self, before: Timestamp) {
        let count: usize = self.accounts.values_mut().map(|account| account.prune(before)).sum();
        if count > 0 {
            self.see("history was pruned");
        }
    }

    /// A collection was written with the jobs that its switch touches.
    pub(crate) fn wrote_collection(&mut self, collection: &Collection, skips: &[Skip]) {
        let Some(Intent::Collection { at }) = self.intent.take() else {
            self.problems.push(format!("{}: a collection was written by nobody", collection.key.name));
            return;
        };
        let on = collection.enabled();
        let shelf =
            Shelf { on, sku: collection.sku, job_count_max: collection.job_count_max(&Limits::default()) };
        let before = self.shelves.insert(collection.key.clone(), shelf);
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
