//! Claims: taken from the window, which is filled from the agenda as far as needed.

use std::collections::HashSet;

use punctual_model::JobId;
use punctual_store::Fence;
use punctual_store::claims::Claims;
use rusqlite::{Row, params};

use super::WriterState;
use crate::error::SqliteError;
use crate::query;
use crate::row;
use crate::shared_claims::ClaimDelivery;
use crate::window::WindowEntry;

/// The number of entries that are read at once.
const CHUNK: usize = 512;
/// The most entries that one claim may read, so that it never delays the writes behind it by more than some
/// milliseconds. A claim that stops here wakes its caller to ask again.
const CLAIM_READ_MAX: usize = 20_000;
/// The most entries that a search for the next due time may visit.
const PEEK_MAX: usize = 2_048;

impl WriterState {
    /// Claims the earliest entries due at or before `until`. They are answered after the COMMIT.
    pub(crate) fn claim(
        &mut self,
        until: i64,
        limit: usize,
        full_targets: &HashSet<i64>,
    ) -> Result<ClaimDelivery, SqliteError> {
        if self.shared_claims.take_given_back() {
            self.window.reset();
        }
        let mut claimed = Vec::new();
        let mut read = 0;
        while claimed.len() < limit {
            match self.window.earliest(full_targets) {
                Some(due) if due.due_at > until => break,
                Some(due) => {
                    self.window.remove(due);
                    let job = JobId(due.job);
                    if let Some(fence) = self.shared_claims.lock().claim(job) {
                        self.staged.claimed.push(fence);
                        claimed.push((fence, job));
                    }
                }
                None if read >= CLAIM_READ_MAX => {
                    self.staged.moved = true;
                    break;
                }
                None => match self.fill(until)? {
                    0 => break,
                    count => read += count,
                },
            }
        }
        Ok(ClaimDelivery::new(self.shared_claims.clone(), claimed))
    }

    /// Reads the next entries of the agenda into the window; returns how many.
    fn fill(&mut self, until: i64) -> Result<usize, SqliteError> {
        let (due_at, job) = self.window.frontier();
        if due_at > until {
            return Ok(0);
        }
        let entries = self.read_due(due_at, job, until)?;
        let claims = self.shared_claims.lock();
        for due in &entries {
            if claims.free(JobId(due.job)) {
                self.window.insert(*due);
            }
        }
        match entries.last() {
            Some(last) if entries.len() == CHUNK => self.window.advance(last.due_at, last.job),
            // There are no more: later ones are written by this thread, which adds them to the window.
            _ => self.window.advance(until, i64::MAX),
        }
        Ok(entries.len())
    }

    /// The next entries after one, at most `CHUNK`, due at or before `until`. SQLite can't use the index for a
    /// pair of columns if one of them is the row id, so entries of the same instant, of which a herd has very
    /// many, are read by a query of their own.
    fn read_due(&self, due_at: i64, job: i64, until: i64) -> Result<Vec<WindowEntry>, SqliteError> {
        let read =
            |row: &Row<'_>| Ok(WindowEntry { due_at: row.get(0)?, job: row.get(1)?, target: row.get(2)? });
        let mut entries = Vec::new();
        if job < i64::MAX {
            let together = params![due_at, job, row::bound(CHUNK)];
            entries = row::many(&self.conn, query::due_together, together, read)?;
        }
        let mut statement = self.conn.prepare_cached(query::due)?;
        let mut rows = statement.query(params![due_at, row::bound(CHUNK - entries.len())])?;
        while let Some(row) = rows.next()? {
            let due = read(row)?;
            if due.due_at > until {
                break;
            }
            entries.push(due);
        }
        Ok(entries)
    }

    /// When the earliest free entry is due. If very many targets are full, the answer may be too early, never
    /// too late.
    pub(crate) fn next_due(&mut self, full_targets: &HashSet<i64>) -> Result<Option<i64>, SqliteError> {
        if self.shared_claims.take_given_back() {
            self.window.reset();
        }
        if let Some(due) = self.window.earliest(full_targets) {
            return Ok(Some(due.due_at));
        }
        let free = |claims: &Claims, due: &WindowEntry| {
            !full_targets.contains(&due.target) && claims.free(JobId(due.job))
        };
        let (mut due_at, mut job) = self.window.frontier();
        for _ in 0..PEEK_MAX / CHUNK {
            let entries = self.read_due(due_at, job, i64::MAX)?;
            let claims = self.shared_claims.lock();
            if let Some(due) = entries.iter().find(|due| free(&claims, due)) {
                return Ok(Some(due.due_at));
            }
            match entries.last() {
                Some(last) if entries.len() == CHUNK => (due_at, job) = (last.due_at, last.job),
                _ => return Ok(None),
            }
        }
        Ok(Some(due_at))
    }

    /// Gives claims back. The entries of their jobs are read again, since an edit may have moved them.
    pub(crate) fn release(&mut self, fences: &[Fence]) -> Result<(), SqliteError> {
        for fence in fences {
            if self.staged.settled.values().any(|(settled, _)| settled == fence) {
                continue;
            }
            let Some(JobId(job)) = self.shared_claims.lock().end(*fence) else { continue };
            let entry = row::one(&self.conn, query::entry, [job], |row| {
                Ok(row.get::<_, Option<i64>>(0)?.zip(Some(row.get(1)?)))
            })?;
            if let Some((due_at, target)) = entry.flatten() {
                self.window.offer(WindowEntry { due_at, job, target });
            }
            self.staged.moved = true;
        }
        Ok(())
    }
}
