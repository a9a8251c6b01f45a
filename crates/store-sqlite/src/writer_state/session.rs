//! Sessions.

use jiff::Timestamp;
use punctual_model::access::{Session, SessionId, TokenHash};
use punctual_store::instant::to_ticks;
use punctual_store::{Refusal, SESSIONS_MAX, SESSIONS_PER_CALLER_MAX, codec};
use rusqlite::params;

use super::WriterState;
use crate::error::SqliteError;
use crate::{query, row};

impl WriterState {
    pub(crate) fn create_session(&mut self, session: &Session) -> Result<Result<(), Refusal>, SqliteError> {
        let holder = &session.holder;
        let kept = row::bound(SESSIONS_PER_CALLER_MAX - 1);
        self.conn.prepare_cached(query::delete_surplus_sessions)?.execute(params![
            holder.caller_id(),
            holder.issuer(),
            kept
        ])?;
        let count = row::number(&self.conn, query::session_count, [])?.unwrap_or(0);
        if count >= row::bound(SESSIONS_MAX) {
            return Ok(Err(Refusal::TooManySessions { max: SESSIONS_MAX }));
        }
        self.conn.prepare_cached(query::insert_session)?.execute(params![
            session.id.0,
            session.hash.0,
            holder.caller_id(),
            holder.issuer(),
            codec::encode_session_holder(holder),
            to_ticks(session.created_at),
            to_ticks(session.last_used_at),
            to_ticks(session.expires_at),
        ])?;
        Ok(Ok(()))
    }

    pub(crate) fn note_session_uses(&mut self, uses: &[(TokenHash, Timestamp)]) -> Result<(), SqliteError> {
        let mut statement = self.conn.prepare_cached(query::note_session_use)?;
        for (hash, used_at) in uses {
            statement.execute(params![hash.0, to_ticks(*used_at)])?;
        }
        Ok(())
    }

    pub(crate) fn end_session(&mut self, id: &SessionId) -> Result<bool, SqliteError> {
        Ok(self.conn.prepare_cached(query::delete_session)?.execute([&id.0])? == 1)
    }

    pub(crate) fn end_sessions_of(&mut self, caller_id: &str) -> Result<usize, SqliteError> {
        Ok(self.conn.prepare_cached(query::delete_sessions_of)?.execute([caller_id])?)
    }

    pub(crate) fn prune_sessions(
        &mut self,
        now: Timestamp,
        unused_since: Timestamp,
        limit: usize,
    ) -> Result<usize, SqliteError> {
        let bounds = params![to_ticks(now), to_ticks(unused_since), row::bound(limit)];
        Ok(self.conn.prepare_cached(query::prune_sessions)?.execute(bounds)?)
    }
}
