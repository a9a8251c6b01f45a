//! The audit log.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::audit::AuditEntry;

use super::{MemoryStore, State};
use crate::{
    AUDIT_SCAN_MAX, AuditAsk, AuditKey, AuditLog, AuditPage, AuditPiece, AuditVerification, StoredEntry,
    Trouble, audit_code_text, codec, seal_piece, verify_piece,
};

/// The entries as a store on disk would have them, and the chain.
#[derive(Debug, Default)]
pub(super) struct AuditState {
    entries: BTreeMap<i64, Vec<u8>>,
    last: i64,
    pieces: Vec<AuditPiece>,
    anchor: Option<(i64, Vec<u8>)>,
}

impl State {
    /// Appends the entry of a change.
    pub(super) fn note(&mut self, entry: Option<&AuditEntry>) {
        if let Some(entry) = entry {
            self.audit.last += 1;
            self.audit.entries.insert(self.audit.last, codec::encode_audit(entry));
        }
    }
}

impl AuditState {
    /// The last entry that is sealed.
    fn sealed(&self) -> i64 {
        self.pieces.last().and_then(AuditPiece::range).map_or(0, |(_, last)| last)
    }
}

#[async_trait]
impl AuditLog for MemoryStore {
    fn audit_key(&self) -> &AuditKey {
        &self.audit_key
    }

    async fn append_audit(&self, entries: Vec<AuditEntry>) -> Result<(), Trouble> {
        let mut state = self.state();
        entries.iter().for_each(|entry| state.note(Some(entry)));
        Ok(())
    }

    async fn audit(&self, ask: &AuditAsk) -> Result<AuditPage, Trouble> {
        let state = self.state();
        let before = ask.before.unwrap_or(i64::MAX);
        let found = state.audit.entries.range(..before).rev();
        let more = found.clone().count() > AUDIT_SCAN_MAX;
        let entries = found.take(AUDIT_SCAN_MAX).map(|(number, document)| {
            let entry = codec::decode_audit(document).map_err(|_| *number)?;
            Ok(StoredEntry { number: *number, entry })
        });
        Ok(AuditPage::collect(ask, entries, more))
    }

    async fn seal_audit(&self, at: Timestamp, limit: usize) -> Result<usize, Trouble> {
        let mut state = self.state();
        let audit = &mut state.audit;
        let entries = audit.entries.range(audit.sealed() + 1..).take(limit);
        let last = audit.pieces.last().map(|piece| (piece.number, piece.code.as_slice()));
        let last = last.or(audit.anchor.as_ref().map(|(number, code)| (*number, code.as_slice())));
        let entries = entries.map(|(number, document)| (*number, document.as_slice()));
        let piece = seal_piece(&self.audit_key, last, at, entries);
        let count = piece.entry_count();
        if count > 0 {
            audit.pieces.push(piece);
        }
        Ok(count)
    }

    async fn verify_audit(&self, after: Option<i64>, limit: usize) -> Result<AuditVerification, Trouble> {
        let state = self.state();
        let audit = &state.audit;
        let mut found = AuditVerification::default();
        let mut last = audit.anchor.clone();
        for piece in &audit.pieces {
            if after.is_none_or(|after| piece.number > after) {
                if found.checked >= limit {
                    found.next = last.map(|(number, _)| number);
                    return Ok(found);
                }
                let (from, to) = piece.range().unwrap_or((0, -1));
                let entries =
                    audit.entries.range(from..=to).map(|(number, it)| (*number, it.clone())).collect();
                let before = last.as_ref().map(|(number, code)| (*number, code.as_slice()));
                verify_piece(&self.audit_key, before, piece, entries, &mut found);
            }
            last = Some((piece.number, piece.code.clone()));
        }
        found.unsealed = audit.entries.range(audit.sealed() + 1..).count();
        found.head = last.map(|(number, code)| (number, audit_code_text(&code)));
        Ok(found)
    }

    async fn audit_piece_code(&self, piece: i64) -> Result<Option<String>, Trouble> {
        let state = self.state();
        let found = state.audit.pieces.iter().find(|one| one.number == piece);
        Ok(found.map(|piece| audit_code_text(&piece.code)))
    }

    async fn prune_audit(&self, before: Timestamp, limit: usize) -> Result<usize, Trouble> {
        let mut state = self.state();
        let audit = &mut state.audit;
        let mut count = 0;
        // The last piece stays: it says up to where everything is sealed.
        while count < limit && audit.pieces.len() > 1 && audit.pieces[0].sealed_at < before {
            let piece = audit.pieces.remove(0);
            let (from, to) = piece.range().unwrap_or((0, -1));
            count += piece.entry_count();
            audit.entries.retain(|number, _| !(from..=to).contains(number));
            audit.anchor = Some((piece.number, piece.code));
        }
        Ok(count)
    }
}
