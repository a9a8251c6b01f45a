//! Sessions.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::access::{Session, SessionId, TokenHash};
use punctual_model::audit::AuditEntry;
use punctual_store::{Sessions, Trouble, WriteError, codec};
use rusqlite::params;

use super::SqliteStore;
use crate::query;
use crate::row::{self, bound};

#[async_trait]
impl Sessions for SqliteStore {
    async fn session(&self, hash: &TokenHash) -> Result<Option<Session>, Trouble> {
        let hash = hash.0;
        let read = self
            .readers
            .call("read a session", move |conn| row::one(conn, query::session, [hash], row::session));
        read.await
    }

    async fn sessions(&self, after: Option<&SessionId>, limit: usize) -> Result<Vec<Session>, Trouble> {
        let after = after.map_or_else(String::new, |id| id.0.clone());
        let read = self.readers.call_long("list sessions", move |conn| {
            row::many(conn, query::sessions, params![after, bound(limit)], row::session)
        });
        read.await
    }

    async fn create_session(&self, session: &Session, note: Option<AuditEntry>) -> Result<(), WriteError> {
        let (session, note) = (session.clone(), note.as_ref().map(codec::encode_audit));
        self.writer
            .call("create a session", move |state| {
                let created = state.create_session(&session)?;
                state.note_if(created.is_ok(), note.as_deref())?;
                Ok(created)
            })
            .await??;
        Ok(())
    }

    async fn note_session_uses(&self, uses: &[(TokenHash, Timestamp)]) -> Result<(), Trouble> {
        let uses = uses.to_vec();
        self.writer.call("note uses of sessions", move |state| state.note_session_uses(&uses)).await
    }

    async fn end_session(&self, id: &SessionId, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let (id, note) = (id.clone(), note.as_ref().map(codec::encode_audit));
        let end = self.writer.call("end a session", move |state| {
            let ended = state.end_session(&id)?;
            state.note_if(ended, note.as_deref())?;
            Ok(ended)
        });
        end.await
    }

    async fn end_sessions_of(&self, caller_id: &str, note: Option<AuditEntry>) -> Result<usize, Trouble> {
        let (caller_id, note) = (caller_id.to_owned(), note.as_ref().map(codec::encode_audit));
        let end = self.writer.call("end the sessions of a caller", move |state| {
            let count = state.end_sessions_of(&caller_id)?;
            state.note_if(count > 0, note.as_deref())?;
            Ok(count)
        });
        end.await
    }

    async fn prune_sessions(
        &self,
        now: Timestamp,
        unused_since: Timestamp,
        limit: usize,
    ) -> Result<usize, Trouble> {
        let doing = "delete sessions that are over";
        self.writer.call(doing, move |state| state.prune_sessions(now, unused_since, limit)).await
    }
}
