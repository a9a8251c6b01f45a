//! The audit log.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::audit::AuditEntry;
use punctual_store::{
    AUDIT_SCAN_MAX, AuditAsk, AuditKey, AuditLog, AuditPage, AuditVerification, StoredEntry, Trouble,
    audit_code_text, codec,
};
use rusqlite::params;

use super::SqliteStore;
use super::resources::one_more;
use crate::{audit, query, row};

#[async_trait]
impl AuditLog for SqliteStore {
    fn audit_key(&self) -> &AuditKey {
        &self.audit_key
    }

    async fn append_audit(&self, entries: Vec<AuditEntry>) -> Result<(), Trouble> {
        let entries: Vec<Vec<u8>> = entries.iter().map(codec::encode_audit).collect();
        let write = self.writer.call("write to the audit log", move |state| {
            entries.iter().try_for_each(|entry| state.note_if(true, Some(entry)))
        });
        write.await
    }

    async fn audit(&self, ask: &AuditAsk) -> Result<AuditPage, Trouble> {
        let ask = ask.clone();
        let read = self.readers.call_long("read the audit log", move |conn| {
            let count = if ask.takes_all() { ask.limit.min(AUDIT_SCAN_MAX) } else { AUDIT_SCAN_MAX };
            let before = params![ask.before.unwrap_or(i64::MAX), one_more(count)];
            let mut rows = row::many(conn, query::audit_before, before, audit::entry)?;
            let more = rows.len() > count;
            rows.truncate(count);
            let entries = rows.into_iter().map(|(number, document)| {
                let entry = codec::decode_audit(&document).map_err(|_| number)?;
                Ok(StoredEntry { number, entry })
            });
            Ok(AuditPage::collect(&ask, entries, more))
        });
        read.await
    }

    async fn seal_audit(&self, at: Timestamp, limit: usize) -> Result<usize, Trouble> {
        let key = self.audit_key.clone();
        self.writer.call("seal the audit log", move |state| state.seal_audit(&key, at, limit)).await
    }

    async fn verify_audit(&self, after: Option<i64>, limit: usize) -> Result<AuditVerification, Trouble> {
        let key = self.audit_key.clone();
        let read = self
            .readers
            .call_long("verify the audit log", move |conn| audit::verify(conn, &key, after, limit));
        read.await
    }

    async fn audit_piece_code(&self, piece: i64) -> Result<Option<String>, Trouble> {
        let read = self.readers.call("read the audit log", move |conn| {
            let code = row::one(conn, query::audit_piece_code, [piece], |row| Ok(row.get::<_, Vec<u8>>(0)?))?;
            Ok(code.map(|code| audit_code_text(&code)))
        });
        read.await
    }

    async fn prune_audit(&self, before: Timestamp, limit: usize) -> Result<usize, Trouble> {
        self.writer.call("prune the audit log", move |state| state.prune_audit(before, limit)).await
    }
}
