//! Keys, and sealing jobs anew.

use punctual_model::audit::AuditEntry;
use punctual_model::{JobId, RandomSource};
use punctual_store::codec::{self, StoredSpec};
use punctual_store::{KeyError, KeyRing, KeyUse, Vault};
use rusqlite::params;

use super::{WriterState, expect_rows};
use crate::error::SqliteError;
use crate::{query, seals};

/// A job as it is stored, and as it is to be stored.
pub(crate) struct ResealedJob {
    pub(crate) job: JobId,
    pub(crate) before: StoredSpec,
    pub(crate) after: StoredSpec,
}

/// Jobs that were looked at.
pub(crate) struct ResealedPiece {
    /// The key that they are sealed with now.
    pub(crate) key: u32,
    /// The job behind which they begin, and the last of them.
    pub(crate) from: i64,
    pub(crate) to: i64,
    /// How many they are.
    pub(crate) visited_count: i64,
    /// Those of them that are to be written.
    pub(crate) jobs: Vec<ResealedJob>,
    /// Whether there are no others.
    pub(crate) last: bool,
}

impl WriterState {
    /// The key that must have sealed what is written: the newest, also if it became that in this transaction.
    pub(super) fn sealing_key(&self) -> u32 {
        self.staged.keys.as_ref().map_or_else(|| self.vault.newest(), KeyRing::newest)
    }

    /// Has the newest key of a ring seal from the next transaction on.
    pub(crate) fn seal_with(
        &mut self,
        ring: &KeyRing,
        random: &dyn RandomSource,
        note: Option<&AuditEntry>,
    ) -> Result<Result<(), KeyError>, SqliteError> {
        let next = Vault::new(ring);
        if next.newest() < self.vault.newest() {
            return Ok(Err(KeyError::Different { id: self.vault.newest() }));
        }
        let there = next.ids();
        if let Some(id) = self.vault.ids().into_iter().find(|id| !there.contains(id)) {
            return Ok(Err(KeyError::Missing { id }));
        }
        if let Some(id) = seals::different(&self.conn, &next)? {
            return Ok(Err(KeyError::Different { id }));
        }
        let retired = seals::adopt(&self.conn, &next, random, note)?;
        self.staged.keys = Some(retired.into_iter().fold(ring.clone(), |ring, id| ring.without(id)));
        Ok(Ok(()))
    }

    /// Writes what was sealed anew, and remembers where to go on. A job that was written meanwhile is left as it is: it
    /// is sealed with the newest key then.
    pub(crate) fn reseal(
        &mut self,
        piece: &ResealedPiece,
        random: &dyn RandomSource,
    ) -> Result<(), SqliteError> {
        let columns = params![piece.key, piece.from, piece.to, piece.visited_count, piece.last];
        let went_on = self.conn.prepare_cached(query::go_on_resealing)?.execute(columns)?;
        // Another key seals by now, or somebody else has done this piece.
        if went_on == 0 || piece.key != self.sealing_key() {
            return Ok(());
        }
        let mut statement = self.conn.prepare_cached(query::reseal_job)?;
        for ResealedJob { job, before, after } in &piece.jobs {
            let row = params![job.0, after.document, after.sealed, before.document, before.sealed];
            statement.execute(row)?;
        }
        drop(statement);
        if piece.last {
            // One may have been kept in the transaction in which the key became the newest.
            seals::reseal_server_secrets(&self.conn, &self.vault, random)?;
            // What was replaced is still in the write-ahead log.
            self.empties_log = true;
        }
        Ok(())
    }

    /// Lets a key go that nothing needs.
    pub(crate) fn retire_key(
        &mut self,
        id: u32,
        note: Option<&AuditEntry>,
    ) -> Result<Result<(), KeyError>, SqliteError> {
        // Since writes with another key than the newest are refused, nobody can begin to need it.
        if seals::is_needed(&self.conn, id)? {
            return Ok(Err(KeyError::Needed(KeyUse { id, seals: false, job_count: 1, server_count: 0 })));
        }
        expect_rows(1, self.conn.prepare_cached(query::retire_key)?.execute([id])?)?;
        let note = note.map(|note| AuditEntry { subject: seals::subject(id), ..note.clone() });
        self.note_if(true, note.as_ref().map(codec::encode_audit).as_deref())?;
        self.empties_log = true;
        Ok(Ok(()))
    }
}
