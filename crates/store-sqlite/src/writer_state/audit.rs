//! The audit log.

use jiff::Timestamp;
use punctual_store::instant::to_ticks;
use punctual_store::{AuditKey, AuditPiece, seal_piece};
use rusqlite::params;

use super::{WriterState, expect_rows};
use crate::audit::{self, Chain};
use crate::error::SqliteError;
use crate::{query, row};

impl WriterState {
    /// Appends the entry of a change, if the change was made.
    pub(crate) fn note_if(&mut self, changed: bool, entry: Option<&[u8]>) -> Result<(), SqliteError> {
        match entry.filter(|_| changed) {
            Some(entry) => expect_rows(1, self.conn.prepare_cached(query::insert_audit)?.execute([entry])?),
            None => Ok(()),
        }
    }

    /// Seals what is not sealed yet as the next piece; returns how many entries it has.
    pub(crate) fn seal_audit(
        &mut self,
        key: &AuditKey,
        at: Timestamp,
        limit: usize,
    ) -> Result<usize, SqliteError> {
        let Chain { sealed_to, anchor } = audit::chain(&self.conn)?;
        let after = params![sealed_to, row::bound(limit)];
        let entries: Vec<(i64, Vec<u8>)> = row::many(&self.conn, query::audit_after, after, audit::entry)?;
        let Some((last_entry, _)) = entries.last() else { return Ok(0) };
        let last = row::one(&self.conn, query::last_audit_piece, [], audit::end)?;
        let (number, code) = last.unwrap_or(anchor);
        let rows = entries.iter().map(|(number, entry)| (*number, entry.as_slice()));
        let piece = seal_piece(key, Some((number, &code)), at, rows);
        let columns = params![piece.number, to_ticks(piece.sealed_at), piece.rows, piece.code];
        expect_rows(1, self.conn.prepare_cached(query::insert_audit_piece)?.execute(columns)?)?;
        expect_rows(1, self.conn.prepare_cached(query::set_audit_sealed)?.execute([last_entry])?)?;
        Ok(piece.entry_count())
    }

    /// Deletes the oldest pieces with their entries; returns how many entries those were. The last piece stays.
    pub(crate) fn prune_audit(&mut self, before: Timestamp, limit: usize) -> Result<usize, SqliteError> {
        let mut count = 0;
        while count < limit {
            let Chain { anchor: (anchor, _), .. } = audit::chain(&self.conn)?;
            let next = params![anchor, 2];
            let mut pieces = row::many(&self.conn, query::audit_pieces, next, audit::piece)?.into_iter();
            let (Some(piece), Some(_)) = (pieces.next(), pieces.next()) else { break };
            if piece.sealed_at >= before {
                break;
            }
            count += piece.entry_count();
            self.delete_audit_piece(&piece)?;
        }
        Ok(count)
    }

    fn delete_audit_piece(&mut self, piece: &AuditPiece) -> Result<(), SqliteError> {
        if let Some((first, last)) = piece.range() {
            self.conn.prepare_cached(query::delete_audit_between)?.execute([first, last])?;
        }
        expect_rows(1, self.conn.prepare_cached(query::delete_audit_piece)?.execute([piece.number])?)?;
        let anchor = params![piece.number, piece.code];
        expect_rows(1, self.conn.prepare_cached(query::set_audit_anchor)?.execute(anchor)?)
    }
}
