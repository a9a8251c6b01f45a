//! Claims: from the window, which is filled from the agenda as far as needed.

use std::collections::HashSet;

use punctual_model::JobId;
use punctual_store::Fence;
use punctual_store::claims::Claims;
use rusqlite::{Row, params};

use super::Desk;
use crate::book::Parcel;
use crate::mishap::Mishap;
use crate::query;
use crate::row;
use crate::window::Due;

/// How many entries are read at once.
const CHUNK: usize = 512;
/// How many entries one claim may read, so that it never holds up the writes behind it for more than
/// some milliseconds. A claim that stops here wakes its caller to ask again.
const CLAIM_READ_MAX: usize = 20_000;
/// How many entries a question for the next due time may look at.
const PEEK_MAX: usize = 2_048;

impl Desk {
    /// Claims the earliest entries due at or before `until`. They are told after the COMMIT.
    pub(crate) fn claim(
        &mut self,
        until: i64,
        limit: usize,
        passed_over: &HashSet<i64>,
    ) -> Result<Parcel, Mishap> {
        if self.book.take_given_back() {
            self.window.reset();
        }
        let mut claimed = Vec::new();
        let mut read = 0;
        while claimed.len() < limit {
            match self.window.earliest(passed_over) {
                Some(due) if due.due_at > until => break,
                Some(due) => {
                    self.window.remove(due);
                    let job = JobId(due.job);
                    if let Some(fence) = self.book.claims().claim(job) {
                        self.group.claimed.push(fence);
                        claimed.push((fence, job));
                    }
                }
                None if read >= CLAIM_READ_MAX => {
                    self.group.moved = true;
                    break;
                }
                None => match self.fill(until)? {
                    0 => break,
                    count => read += count,
                },
            }
        }
        Ok(Parcel::new(self.book.clone(), claimed))
    }

    /// Reads the next entries of the agenda into the window; how many there were.
    fn fill(&mut self, until: i64) -> Result<usize, Mishap> {
        let (due_at, job) = self.window.frontier();
        if due_at > until {
            return Ok(0);
        }
        let entries = self.read_due(due_at, job, until)?;
        let claims = self.book.claims();
        for due in &entries {
            if claims.free(JobId(due.job)) {
                self.window.insert(*due);
            }
        }
        match entries.last() {
            Some(last) if entries.len() == CHUNK => self.window.advance(last.due_at, last.job),
            // There is no more: what comes later is written by this thread, which offers it.
            _ => self.window.advance(until, i64::MAX),
        }
        Ok(entries.len())
    }

    /// The next entries behind one, at most `CHUNK`, due at or before `until`. SQLite does not find its
    /// way to a pair of columns when one of them is the row's number, so those of the same instant, of
    /// which a herd has very many, are asked for apart.
    fn read_due(&self, due_at: i64, job: i64, until: i64) -> Result<Vec<Due>, Mishap> {
        let read = |row: &Row<'_>| Ok(Due { due_at: row.get(0)?, job: row.get(1)?, target: row.get(2)? });
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

    /// When the earliest free entry is due. Where very many are passed over it may be said too early,
    /// never too late.
    pub(crate) fn next_due(&mut self, passed_over: &HashSet<i64>) -> Result<Option<i64>, Mishap> {
        if self.book.take_given_back() {
            self.window.reset();
        }
        if let Some(due) = self.window.earliest(passed_over) {
            return Ok(Some(due.due_at));
        }
        let free =
            |claims: &Claims, due: &Due| !passed_over.contains(&due.target) && claims.free(JobId(due.job));
        let (mut due_at, mut job) = self.window.frontier();
        for _ in 0..PEEK_MAX / CHUNK {
            let entries = self.read_due(due_at, job, i64::MAX)?;
            let claims = self.book.claims();
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

    /// Gives claims back. Their jobs' entries are read again, since an edit may have moved them.
    pub(crate) fn release(&mut self, fences: &[Fence]) -> Result<(), Mishap> {
        for fence in fences {
            if self.group.settled.values().any(|(settled, _)| settled == fence) {
                continue;
            }
            let Some(JobId(job)) = self.book.claims().end(*fence) else { continue };
            let entry = row::one(&self.conn, query::entry, [job], |row| {
                Ok(row.get::<_, Option<i64>>(0)?.zip(Some(row.get(1)?)))
            })?;
            if let Some((due_at, target)) = entry.flatten() {
                self.window.offer(Due { due_at, job, target });
            }
            self.group.moved = true;
        }
        Ok(())
    }
}
