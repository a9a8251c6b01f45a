//! A store in memory: the reference implementation, in plain collections.
//!
//! Everything is behind one lock, so each method is one transaction. It is empty after a restart and is meant
//! for tests, the simulator and for trying things out.

mod agenda;
mod archive;
mod audit;
mod callers;
mod repair;
mod resources;
mod sessions;
mod survey;
mod views;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use punctual_model::access::{Session, SessionId, Token, TokenHash, TokenId};
use punctual_model::{
    Cause, Collection, CollectionKey, GroupKey, Job, JobId, JobKey, Name, Record, RecordStatus, Secret, Skip,
};
use tokio::sync::watch;

use crate::claims::Claims;
use crate::{AuditKey, Group, Page, PageRow, Roster, StoredRecord};

/// A store in memory.
#[derive(Debug)]
pub struct MemoryStore {
    state: Mutex<State>,
    changes: watch::Sender<u64>,
    token_changes: watch::Sender<u64>,
    audit_key: AuditKey,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self {
            state: Mutex::new(State::default()),
            changes: watch::Sender::new(0),
            token_changes: watch::Sender::new(0),
            audit_key: AuditKey::of_memory(),
        }
    }

    /// Checks come before writes everywhere, so a panic while the lock was held leaves no half-written state,
    /// and a poisoned lock can be used.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes whoever waits for the agenda, if an entry of it was moved.
    fn wake_if(&self, moved: bool) {
        if moved {
            self.wake();
        }
    }

    fn wake(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

/// One process owns it.
impl Roster for MemoryStore {}

#[derive(Debug)]
struct State {
    groups: BTreeMap<GroupKey, Group>,
    collections: BTreeMap<CollectionKey, Collection>,
    jobs: BTreeMap<JobKey, Job>,
    keys: HashMap<JobId, JobKey>,
    agenda: BTreeSet<(Timestamp, JobId)>,
    claims: Claims,
    records: BTreeMap<i64, Record>,
    attempts: HashSet<Attempt>,
    skips: Vec<Skip>,
    /// By the minute, and by the hour; of a collection, and of all.
    stats_minutes: views::Stats,
    stats_hours: views::Stats,
    reruns: BTreeMap<(JobId, Timestamp), Timestamp>,
    /// Records that ended before this may have been deleted.
    pruned_before: Option<Timestamp>,
    /// The generation of a job of which records were deleted because there were too many.
    capped: HashMap<JobId, u32>,
    unregistered: BTreeSet<Name>,
    sessions: BTreeMap<SessionId, Session>,
    tokens: BTreeMap<TokenId, Token>,
    token_names: BTreeMap<Name, TokenId>,
    server_secrets: HashMap<&'static str, Secret>,
    token_hashes: HashMap<TokenHash, TokenId>,
    audit: audit::AuditState,
    last_job: i64,
    last_sequence: i64,
    last_revision: i64,
}

impl Default for State {
    fn default() -> Self {
        Self {
            groups: BTreeMap::new(),
            collections: BTreeMap::new(),
            jobs: BTreeMap::new(),
            keys: HashMap::new(),
            agenda: BTreeSet::new(),
            claims: Claims::new(1),
            records: BTreeMap::new(),
            attempts: HashSet::new(),
            skips: Vec::new(),
            stats_minutes: BTreeMap::new(),
            stats_hours: BTreeMap::new(),
            reruns: BTreeMap::new(),
            pruned_before: None,
            capped: HashMap::new(),
            unregistered: BTreeSet::new(),
            sessions: BTreeMap::new(),
            tokens: BTreeMap::new(),
            token_names: BTreeMap::new(),
            server_secrets: HashMap::new(),
            token_hashes: HashMap::new(),
            audit: audit::AuditState::default(),
            last_job: 0,
            last_sequence: 0,
            last_revision: 0,
        }
    }
}

impl State {
    /// Replaces the job with its key, and puts its entry on the agenda.
    fn write_job(&mut self, job: Job) {
        self.keys.insert(job.id, job.key.clone());
        if let Some(entry) = job.progress.entry {
            self.agenda.insert((entry.due_at, job.id));
        }
        let id = job.id;
        if let Some(old) = self.jobs.insert(job.key.clone(), job) {
            let new_due_at = self.jobs[&old.key].progress.entry.map(|entry| entry.due_at);
            if let Some(entry) = old.progress.entry.filter(|entry| Some(entry.due_at) != new_due_at) {
                self.agenda.remove(&(entry.due_at, id));
            }
        }
    }

    fn remove_job(&mut self, key: &JobKey) -> bool {
        let Some(job) = self.jobs.remove(key) else { return false };
        self.keys.remove(&job.id);
        self.capped.remove(&job.id);
        if let Some(entry) = job.progress.entry {
            self.agenda.remove(&(entry.due_at, job.id));
        }
        self.claims.take_back(job.id);
        self.records.retain(|_, record| record.job != job.id);
        self.attempts.retain(|attempt| attempt.job != job.id);
        self.skips.retain(|skip| skip.job != job.id);
        true
    }

    fn remove_collection(&mut self, key: &CollectionKey) -> bool {
        let jobs: Vec<JobKey> = self.jobs_of(key).map(|job| job.key.clone()).collect();
        for job in &jobs {
            self.remove_job(job);
        }
        for stats in [&mut self.stats_minutes, &mut self.stats_hours] {
            stats.retain(|(_, collection), _| collection.as_ref() != Some(key));
        }
        self.collections.remove(key).is_some()
    }

    fn jobs_of<'a>(&'a self, key: &'a CollectionKey) -> impl Iterator<Item = &'a Job> {
        let from = key.job("");
        self.jobs.range(from..).map(|(_, job)| job).take_while(move |job| job.key.collection == *key)
    }

    fn job_by_id(&self, id: JobId) -> Option<&Job> {
        self.keys.get(&id).map(|key| &self.jobs[key])
    }

    /// Appends a record, unless its attempt is recorded already.
    fn append(&mut self, record: Record) {
        if self.attempts.insert(Attempt::of(&record)) {
            self.last_sequence += 1;
            self.records.insert(self.last_sequence, record);
        }
    }

    fn forget(&mut self, sequence: i64) {
        if let Some(record) = self.records.remove(&sequence) {
            self.attempts.remove(&Attempt::of(&record));
        }
    }

    fn stored(&self) -> impl Iterator<Item = StoredRecord> + '_ {
        self.records
            .iter()
            .map(|(sequence, record)| StoredRecord { sequence: *sequence, record: record.clone() })
    }
}

/// A page of what was found after a cursor, each item with its own cursor.
fn page<T, C>(found: impl Iterator<Item = (C, T)>, limit: usize) -> Page<T, C> {
    let rows = found.take(limit.saturating_add(1));
    Page::new(rows.map(|(cursor, item)| PageRow { item: Ok(item), cursor: Some(cursor) }).collect(), limit)
}

/// What identifies an attempt.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Attempt {
    job: JobId,
    generation: u32,
    nominal_at: Timestamp,
    cause: Cause,
    step: u8,
    attempt: u32,
    postponed: bool,
}

impl Attempt {
    fn of(record: &Record) -> Self {
        Self {
            job: record.job,
            generation: record.generation,
            nominal_at: record.nominal_at,
            cause: record.cause,
            step: record.step,
            attempt: record.attempt,
            postponed: record.status == RecordStatus::Postponed,
        }
    }
}
