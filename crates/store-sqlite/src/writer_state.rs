//! The state of the writer thread: its connection, and what it keeps in memory besides.
//!
//! Everything in memory that depends on what a transaction writes is either rebuilt after a rollback (the
//! window, the cached collections) or staged until the COMMIT (claims made, claims settled), so that memory is
//! never ahead of the disk.

mod audit;
mod claim;
mod collection;
mod housekeeping;
mod job;
mod repair;
mod seals;
mod session;
mod settle;
mod stats;
mod token;

use std::collections::HashMap;
use std::sync::Arc;

use punctual_model::{Collection, CollectionKey, JobId};
use punctual_store::claims::TakenBack;
use punctual_store::{Fence, KeyRing, Vault};
use rusqlite::{Connection, params};

use crate::error::SqliteError;
use crate::open::Last;
use crate::query;
use crate::row;
use crate::shared_claims::SharedClaims;
use crate::window::{Window, WindowEntry};

pub(crate) use collection::EncodedCollection;
pub(crate) use job::EncodedJob;
pub(crate) use repair::EncodedRepair;
pub(crate) use seals::{ResealedJob, ResealedPiece};
pub(crate) use settle::EncodedSettlement;

/// The size of the cache of collections; above this all are dropped and read again.
const CACHED_COLLECTIONS_MAX: usize = 4_096;

pub(crate) struct WriterState {
    pub(crate) conn: Connection,
    vault: Arc<Vault>,
    shared_claims: Arc<SharedClaims>,
    window: Window,
    collection_cache: HashMap<CollectionKey, CachedCollection>,
    sequence: i64,
    revision: i64,
    job_count: i64,
    /// Whether deleted jobs have history left to delete.
    pub(crate) has_orphaned_history: bool,
    /// Whether what is in the write-ahead log should leave it soon.
    pub(crate) empties_log: bool,
    staged: Staged,
}

/// What edits of jobs need of a collection.
#[derive(Clone)]
struct CachedCollection {
    id: i64,
    key: CollectionKey,
    revision: i64,
    job_count: u32,
}

/// What the current transaction has changed, to be applied to memory after its COMMIT.
#[derive(Default)]
struct Staged {
    claimed: Vec<Fence>,
    /// Settled claims with the new entries of their jobs.
    settled: HashMap<JobId, (Fence, Option<WindowEntry>)>,
    counted: bool,
    /// The change of the number of jobs.
    jobs_made: i64,
    moved: bool,
    rescan: bool,
    /// The keys from now on.
    keys: Option<KeyRing>,
}

impl WriterState {
    pub(crate) fn new(
        conn: Connection,
        vault: Arc<Vault>,
        shared_claims: Arc<SharedClaims>,
        last: Last,
    ) -> Self {
        Self {
            conn,
            vault,
            shared_claims,
            window: Window::new(),
            collection_cache: HashMap::new(),
            sequence: last.sequence,
            revision: last.revision,
            job_count: last.job_count,
            // The first sweep finds out.
            has_orphaned_history: true,
            empties_log: false,
            staged: Staged::default(),
        }
    }

    pub(crate) fn begin(&mut self) -> Result<(), SqliteError> {
        self.staged = Staged::default();
        self.conn.prepare_cached(query::begin)?.execute([])?;
        Ok(())
    }

    /// Commits the transaction, then applies the staged changes.
    pub(crate) fn commit(&mut self) -> Result<(), SqliteError> {
        let job_count = self.job_count + self.staged.jobs_made;
        if self.staged.counted || job_count != self.job_count {
            let counters = params![self.sequence, self.revision, job_count];
            expect_rows(1, self.conn.prepare_cached(query::save_counters)?.execute(counters)?)?;
        }
        self.conn.prepare_cached(query::commit)?.execute([])?;
        self.job_count = job_count;

        let staged = std::mem::take(&mut self.staged);
        if let Some(ring) = &staged.keys {
            // Here, between two transactions: no later one has anything that an older key has sealed.
            self.vault.replace(ring);
        }
        if !staged.settled.is_empty() {
            let mut claims = self.shared_claims.lock();
            for (fence, due) in staged.settled.into_values() {
                claims.end(fence);
                due.into_iter().for_each(|due| self.window.offer(due));
            }
        }
        if staged.rescan {
            self.window.reset();
        }
        if self.collection_cache.len() > CACHED_COLLECTIONS_MAX {
            self.collection_cache.clear();
        }
        if staged.moved || staged.rescan {
            self.shared_claims.wake();
        }
        Ok(())
    }

    /// Rolls the transaction back. Claims that it took back stay free: their entries are handed out again.
    pub(crate) fn roll_back(&mut self) {
        if !self.conn.is_autocommit()
            && let Err(error) = self.conn.prepare_cached(query::rollback).and_then(|mut it| it.execute([]))
        {
            tracing::error!(%error, "could not roll back");
        }
        let staged = std::mem::take(&mut self.staged);
        {
            let mut claims = self.shared_claims.lock();
            for fence in staged.claimed {
                claims.end(fence);
            }
        }
        self.collection_cache.clear();
        self.window.reset();
        self.shared_claims.wake();
    }

    /// A collection by its key, from the cache if it is there.
    fn cached_collection(&mut self, key: &CollectionKey) -> Result<Option<CachedCollection>, SqliteError> {
        if let Some(known) = self.collection_cache.get(key) {
            return Ok(Some(known.clone()));
        }
        // Its document is not read: a collection that can't be read can still be deleted, with its jobs.
        let found = row::one(&self.conn, query::collection, row::collection_params(key), |row| {
            Ok((row.get(0)?, row::collection_key(row)?, row.get(5)?))
        })?;
        let Some((id, found_key, revision)) = found else { return Ok(None) };
        let count = row::number(&self.conn, query::job_count_of, [id])?.unwrap_or(0);
        let job_count = u32::try_from(count).unwrap_or(u32::MAX);
        let known = CachedCollection { id, key: found_key, revision, job_count };
        self.collection_cache.insert(key.clone(), known.clone());
        Ok(Some(known))
    }

    fn collection(&self, key: &CollectionKey) -> Result<Option<(i64, Collection)>, SqliteError> {
        row::one(&self.conn, query::collection, row::collection_params(key), row::collection)
    }

    /// Replaces the old entry of a job, if any, by a new one, and takes its claim back unless it is in flight.
    fn moved(&mut self, job: JobId, old: Option<WindowEntry>, new: Option<WindowEntry>) {
        self.staged.moved = true;
        old.into_iter().for_each(|due| self.window.remove(due));
        if self.shared_claims.lock().take_back(job) != TakenBack::InFlight {
            new.into_iter().for_each(|due| self.window.offer(due));
        } else if let Some((_, due)) = self.staged.settled.get_mut(&job) {
            *due = new;
        }
    }
}

/// A write that changes another number of rows than expected is a bug, and is not committed.
fn expect_rows(expected: usize, rows: usize) -> Result<(), SqliteError> {
    if rows == expected { Ok(()) } else { Err(rusqlite::Error::StatementChangedRows(rows).into()) }
}
