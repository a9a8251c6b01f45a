//! Where the writer thread works: its connection, and what it keeps in memory beside it.
//!
//! Everything in memory that depends on what a transaction writes is either derived anew after a
//! rollback (the window, the known collections) or staged until the COMMIT (claims made, claims
//! settled), so that memory never knows of something that the disk does not.

mod claim;
mod collection;
mod housekeeping;
mod job;
mod repair;
mod settle;
mod token;

use std::collections::HashMap;
use std::sync::Arc;

use punctual_model::{Collection, CollectionKey, JobId};
use punctual_store::claims::TakenBack;
use punctual_store::{Fence, Vault};
use rusqlite::{Connection, params};

use crate::book::Book;
use crate::mishap::Mishap;
use crate::open::Last;
use crate::query;
use crate::row;
use crate::window::{Due, Window};

pub(crate) use collection::WrittenCollection;
pub(crate) use job::WrittenJob;
pub(crate) use repair::WrittenRepair;
pub(crate) use settle::Decided;

/// How many collections are remembered; above this all are forgotten and read again.
const KNOWN_COLLECTIONS_MAX: usize = 4_096;

pub(crate) struct Desk {
    pub(crate) conn: Connection,
    vault: Arc<Vault>,
    book: Arc<Book>,
    window: Window,
    known: HashMap<CollectionKey, Known>,
    sequence: i64,
    revision: i64,
    job_count: i64,
    /// Whether deleted jobs have history left to sweep away.
    pub(crate) graves: bool,
    group: Group,
}

/// What edits of jobs need of a collection.
#[derive(Clone)]
struct Known {
    id: i64,
    key: CollectionKey,
    revision: i64,
    job_count: u32,
}

/// What the transaction at hand has changed.
#[derive(Default)]
struct Group {
    claimed: Vec<Fence>,
    /// Settled claims with the entries that their jobs have now.
    settled: HashMap<JobId, (Fence, Option<Due>)>,
    counted: bool,
    /// How many more jobs there are now.
    jobs_made: i64,
    moved: bool,
    rescan: bool,
}

impl Desk {
    pub(crate) fn new(conn: Connection, vault: Arc<Vault>, book: Arc<Book>, last: Last) -> Self {
        Self {
            conn,
            vault,
            book,
            window: Window::new(),
            known: HashMap::new(),
            sequence: last.sequence,
            revision: last.revision,
            job_count: last.job_count,
            // The first sweep finds out.
            graves: true,
            group: Group::default(),
        }
    }

    pub(crate) fn begin(&mut self) -> Result<(), Mishap> {
        self.group = Group::default();
        self.conn.prepare_cached(query::begin)?.execute([])?;
        Ok(())
    }

    /// Makes the group durable, and then known.
    pub(crate) fn commit(&mut self) -> Result<(), Mishap> {
        let job_count = self.job_count + self.group.jobs_made;
        if self.group.counted || job_count != self.job_count {
            let counters = params![self.sequence, self.revision, job_count];
            expect_rows(1, self.conn.prepare_cached(query::save_counters)?.execute(counters)?)?;
        }
        self.conn.prepare_cached(query::commit)?.execute([])?;
        self.job_count = job_count;

        let group = std::mem::take(&mut self.group);
        if !group.settled.is_empty() {
            let mut claims = self.book.claims();
            for (fence, due) in group.settled.into_values() {
                claims.end(fence);
                due.into_iter().for_each(|due| self.window.offer(due));
            }
        }
        if group.rescan {
            self.window.reset();
        }
        if self.known.len() > KNOWN_COLLECTIONS_MAX {
            self.known.clear();
        }
        if group.moved || group.rescan {
            self.book.wake();
        }
        Ok(())
    }

    /// Takes the group back. Claims that it took back from their holders stay free: their entries are
    /// handed out again.
    pub(crate) fn roll_back(&mut self) {
        if !self.conn.is_autocommit()
            && let Err(error) = self.conn.prepare_cached(query::rollback).and_then(|mut it| it.execute([]))
        {
            tracing::error!(%error, "could not roll back");
        }
        let group = std::mem::take(&mut self.group);
        {
            let mut claims = self.book.claims();
            for fence in group.claimed {
                claims.end(fence);
            }
        }
        self.known.clear();
        self.window.reset();
        self.book.wake();
    }

    /// A collection by its key, remembered for the next edit.
    fn known(&mut self, key: &CollectionKey) -> Result<Option<Known>, Mishap> {
        if let Some(known) = self.known.get(key) {
            return Ok(Some(known.clone()));
        }
        // Its document is not read: who can't read it may still delete it and its jobs.
        let found = row::one(&self.conn, query::collection, row::collection_params(key), |row| {
            Ok((row.get(0)?, row::collection_key(row)?, row.get(5)?))
        })?;
        let Some((id, found_key, revision)) = found else { return Ok(None) };
        let count = row::number(&self.conn, query::job_count_of, [id])?.unwrap_or(0);
        let job_count = u32::try_from(count).unwrap_or(u32::MAX);
        let known = Known { id, key: found_key, revision, job_count };
        self.known.insert(key.clone(), known.clone());
        Ok(Some(known))
    }

    fn collection(&self, key: &CollectionKey) -> Result<Option<(i64, Collection)>, Mishap> {
        row::one(&self.conn, query::collection, row::collection_params(key), row::collection)
    }

    /// Says that a job has a new entry in place of its old one, if any, and takes its claim back
    /// unless it is in flight.
    fn moved(&mut self, job: JobId, old: Option<Due>, new: Option<Due>) {
        self.group.moved = true;
        old.into_iter().for_each(|due| self.window.remove(due));
        if self.book.claims().take_back(job) != TakenBack::InFlight {
            new.into_iter().for_each(|due| self.window.offer(due));
        } else if let Some((_, due)) = self.group.settled.get_mut(&job) {
            *due = new;
        }
    }
}

/// A write that touches another number of rows than it must is a bug, and is not committed.
fn expect_rows(expected: usize, rows: usize) -> Result<(), Mishap> {
    if rows == expected { Ok(()) } else { Err(rusqlite::Error::StatementChangedRows(rows).into()) }
}
