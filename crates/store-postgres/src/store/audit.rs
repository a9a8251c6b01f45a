//! The audit log.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::audit::AuditEntry;
use punctual_store::{
    AUDIT_SCAN_MAX, AuditAsk, AuditKey, AuditLog, AuditPage, AuditVerification, StoredEntry, Trouble,
    audit_code_text, codec,
};

use super::{PostgresStore, decode};
use crate::audit;
use crate::error::PgError;
use crate::param::params;
use crate::pool::work;
use crate::query;
use crate::row::one_more;

#[async_trait]
impl AuditLog for PostgresStore {
    fn audit_key(&self) -> &AuditKey {
        &self.inner.audit_key
    }

    async fn append_audit(&self, entries: Vec<AuditEntry>) -> Result<(), Trouble> {
        let entries: Vec<Vec<u8>> = entries.iter().map(codec::encode_audit).collect();
        if entries.is_empty() {
            return Ok(());
        }
        let write =
            work!(|connection| with entries; connection.write(query::insert_audit, params![entries]).await);
        let written = self.inner.api.run(write).await.map(|_| ());
        written.map_err(|error| error.trouble("write to the audit log"))
    }

    async fn audit(&self, ask: &AuditAsk) -> Result<AuditPage, Trouble> {
        let ask = ask.clone();
        let read = work!(|connection| with ask; {
            let count = if ask.takes_all() { ask.limit.min(AUDIT_SCAN_MAX) } else { AUDIT_SCAN_MAX };
            let mut rows = connection.rows(query::audit_before, params![ask.before.unwrap_or(i64::MAX), one_more(count)]).await?;
            let more = rows.len() > count;
            rows.truncate(count);
            let collect = move || {
                let rows: Vec<(i64, Vec<u8>)> = rows.iter().map(audit::entry).collect::<Result<_, _>>()?;
                let entries = rows.into_iter().map(|(number, document)| {
                    let entry = codec::decode_audit(&document).map_err(|_| number)?;
                    Ok(StoredEntry { number, entry })
                });
                Ok(AuditPage::collect(&ask, entries, more))
            };
            decode(count, collect).await
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("read the audit log"))
    }

    async fn seal_audit(&self, at: Timestamp, limit: usize) -> Result<usize, Trouble> {
        let key = self.inner.audit_key.clone();
        let seal = work!(|connection| with key; {
            connection.begin().await?;
            let count = audit::seal(connection, &key, at, limit).await?;
            connection.commit().await?;
            Ok(count)
        });
        self.inner.api.run(seal).await.map_err(|error| error.trouble("seal the audit log"))
    }

    async fn verify_audit(&self, after: Option<i64>, limit: usize) -> Result<AuditVerification, Trouble> {
        let key = self.inner.audit_key.clone();
        let read = work!(|connection| with key; {
            connection.begin_read().await?;
            let found = audit::verify(connection, &key, after, limit).await?;
            connection.roll_back().await?;
            Ok(found)
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("verify the audit log"))
    }

    async fn audit_piece_code(&self, piece: i64) -> Result<Option<String>, Trouble> {
        let read = work!(|connection| {
            let row = connection.one(query::audit_piece_code, params![piece]).await?;
            let code: Option<Vec<u8>> = row.map(|row| row.try_get(0)).transpose()?;
            Ok::<_, PgError>(code.map(|code| audit_code_text(&code)))
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("read the audit log"))
    }

    async fn prune_audit(&self, before: Timestamp, limit: usize) -> Result<usize, Trouble> {
        let prune = work!(|connection| {
            connection.begin().await?;
            let count = audit::prune(connection, before, limit).await?;
            connection.commit().await?;
            Ok(count)
        });
        self.inner.api.run(prune).await.map_err(|error| error.trouble("prune the audit log"))
    }
}
