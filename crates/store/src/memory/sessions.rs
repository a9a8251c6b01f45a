//! Sessions in memory.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::access::{Session, SessionId, TokenHash};
use punctual_model::audit::AuditEntry;

use super::MemoryStore;
use crate::{Refusal, SESSIONS_MAX, SESSIONS_PER_CALLER_MAX, Sessions, Trouble, WriteError};

#[async_trait]
impl Sessions for MemoryStore {
    async fn session(&self, hash: &TokenHash) -> Result<Option<Session>, Trouble> {
        Ok(self.state().sessions.values().find(|session| session.hash == *hash).cloned())
    }

    async fn sessions(&self, after: Option<&SessionId>, limit: usize) -> Result<Vec<Session>, Trouble> {
        let state = self.state();
        let behind = state.sessions.values().filter(|session| after.is_none_or(|after| session.id > *after));
        Ok(behind.take(limit).cloned().collect())
    }

    async fn create_session(&self, session: &Session, note: Option<AuditEntry>) -> Result<(), WriteError> {
        let mut state = self.state();
        let mut own: Vec<(Timestamp, SessionId)> = state
            .sessions
            .values()
            .filter(|other| other.holder.caller_id() == session.holder.caller_id())
            .filter(|other| other.holder.issuer() == session.holder.issuer())
            .map(|other| (other.last_used_at, other.id.clone()))
            .collect();
        own.sort();
        let surplus = (own.len() + 1).saturating_sub(SESSIONS_PER_CALLER_MAX);
        if state.sessions.len() - surplus >= SESSIONS_MAX {
            return Err(Refusal::TooManySessions { max: SESSIONS_MAX }.into());
        }
        for (_, id) in own.into_iter().take(surplus) {
            state.sessions.remove(&id);
        }
        state.sessions.insert(session.id.clone(), session.clone());
        state.note(note.as_ref());
        Ok(())
    }

    async fn note_session_uses(&self, uses: &[(TokenHash, Timestamp)]) -> Result<(), Trouble> {
        let mut state = self.state();
        for (hash, used_at) in uses {
            if let Some(session) = state.sessions.values_mut().find(|session| session.hash == *hash) {
                session.last_used_at = session.last_used_at.max(*used_at);
            }
        }
        Ok(())
    }

    async fn end_session(&self, id: &SessionId, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let mut state = self.state();
        let ended = state.sessions.remove(id).is_some();
        state.note(note.as_ref().filter(|_| ended));
        Ok(ended)
    }

    async fn end_sessions_of(&self, caller_id: &str, note: Option<AuditEntry>) -> Result<usize, Trouble> {
        let mut state = self.state();
        let before = state.sessions.len();
        state.sessions.retain(|_, session| session.holder.caller_id() != caller_id);
        let count = before - state.sessions.len();
        state.note(note.as_ref().filter(|_| count > 0));
        Ok(count)
    }

    async fn prune_sessions(
        &self,
        now: Timestamp,
        unused_since: Timestamp,
        limit: usize,
    ) -> Result<usize, Trouble> {
        let mut state = self.state();
        let over = |session: &&Session| session.expires_at <= now || session.last_used_at <= unused_since;
        let ids: Vec<SessionId> =
            state.sessions.values().filter(over).take(limit).map(|session| session.id.clone()).collect();
        for id in &ids {
            state.sessions.remove(id);
        }
        Ok(ids.len())
    }
}
