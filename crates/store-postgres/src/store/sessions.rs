//! Sessions.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::access::{Session, SessionId, TokenHash};
use punctual_model::audit::AuditEntry;
use punctual_store::instant::to_ticks;
use punctual_store::{Refusal, SESSIONS_MAX, SESSIONS_PER_CALLER_MAX, Sessions, Trouble, WriteError, codec};

use super::PostgresStore;
use crate::param::params;
use crate::pool::work;
use crate::row::bound;
use crate::{audit, query, receipt, row};

/// The number that is at least as high as there are sessions.
const COUNT: &str = "sessions";

#[async_trait]
impl Sessions for PostgresStore {
    async fn session(&self, hash: &TokenHash) -> Result<Option<Session>, Trouble> {
        let hash = hash.0.to_vec();
        let read = work!(|connection| with hash; {
            connection.one(query::session, params![hash]).await?.map(|row| row::session(&row)).transpose()
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("read a session"))
    }

    async fn sessions(&self, after: Option<&SessionId>, limit: usize) -> Result<Vec<Session>, Trouble> {
        let after = after.map_or_else(String::new, |id| id.0.clone());
        let read = work!(|connection| with after; {
            let rows = connection.rows(query::sessions, params![after, bound(limit)]).await?;
            rows.iter().map(row::session).collect::<Result<Vec<_>, _>>()
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("list sessions"))
    }

    async fn create_session(&self, session: &Session, note: Option<AuditEntry>) -> Result<(), WriteError> {
        let (session, note) = (session.clone(), note.as_ref().map(codec::encode_audit));
        let edit = work!(|connection| with session, note; {
            // Whoever makes one waits for the others, so that they are counted right. The number is never below how many
            // there are.
            let most = connection.number(query::count_up, params![COUNT]).await?.unwrap_or(0);
            let holder = &session.holder;
            let (caller, issuer) = (holder.caller_id().as_bytes(), holder.issuer().as_bytes());
            let kept = bound(SESSIONS_PER_CALLER_MAX - 1);
            connection.execute(query::delete_surplus_sessions, params![caller, issuer, kept]).await?;
            if most > bound(SESSIONS_MAX) {
                let count = connection.number(query::session_count, &[]).await?.unwrap_or(0);
                if count >= bound(SESSIONS_MAX) {
                    return Err(Refusal::TooManySessions { max: SESSIONS_MAX }.into());
                }
                connection.execute_for(1, query::set_number, params![COUNT, count + 1]).await?;
            }
            let times = [session.created_at, session.last_used_at, session.expires_at].map(to_ticks);
            let (hash, document) = (session.hash.0.to_vec(), codec::encode_session_holder(holder));
            let row = params![session.id.0, hash, caller, issuer, document, times[0], times[1], times[2]];
            connection.execute_for(1, query::insert_session, row).await?;
            audit::append(connection, note.into_iter().collect()).await
        });
        let created = receipt::edit(&self.inner.api, &*self.inner.random, edit).await;
        created.map_err(|error| error.write_error("create a session"))
    }

    async fn note_session_uses(&self, uses: &[(TokenHash, Timestamp)]) -> Result<(), Trouble> {
        let mut uses: Vec<(Vec<u8>, i64)> =
            uses.iter().map(|(hash, at)| (hash.0.to_vec(), to_ticks(*at))).collect();
        // The last use of each, in the order in which rows are locked.
        uses.sort_unstable_by(|one, other| (&one.0, other.1).cmp(&(&other.0, one.1)));
        uses.dedup_by(|one, kept| one.0 == kept.0);
        let (hashes, times): (Vec<Vec<u8>>, Vec<i64>) = uses.into_iter().unzip();
        let write = work!(|connection| with hashes, times; {
            connection.write(query::note_session_uses, params![hashes, times]).await
        });
        let written = self.inner.api.run(write).await.map(|_| ());
        written.map_err(|error| error.trouble("note uses of sessions"))
    }

    async fn end_session(&self, id: &SessionId, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let (id, note) = (id.clone(), note.as_ref().map(codec::encode_audit));
        let edit = work!(|connection| with id, note; {
            let ended = connection.execute(query::delete_session, params![id.0]).await? == 1;
            audit::append(connection, note.into_iter().filter(|_| ended).collect()).await?;
            Ok(ended)
        });
        let ended = receipt::edit(&self.inner.api, &*self.inner.random, edit).await;
        ended.map_err(|error| error.trouble("end a session"))
    }

    async fn end_sessions_of(&self, caller_id: &str, note: Option<AuditEntry>) -> Result<usize, Trouble> {
        let (caller_id, note) = (caller_id.to_owned(), note.as_ref().map(codec::encode_audit));
        let edit = work!(|connection| with caller_id, note; {
            let caller = caller_id.as_bytes();
            let count = connection.execute(query::delete_sessions_of, params![caller]).await?;
            audit::append(connection, note.into_iter().filter(|_| count > 0).collect()).await?;
            Ok(usize::try_from(count).unwrap_or(usize::MAX))
        });
        let ended = receipt::edit(&self.inner.api, &*self.inner.random, edit).await;
        ended.map_err(|error| error.trouble("end the sessions of a caller"))
    }

    async fn prune_sessions(
        &self,
        now: Timestamp,
        unused_since: Timestamp,
        limit: usize,
    ) -> Result<usize, Trouble> {
        let (now, unused_since, limit) = (to_ticks(now), to_ticks(unused_since), bound(limit));
        let write = work!(|connection| {
            connection.write(query::prune_sessions, params![now, unused_since, limit]).await
        });
        let count = self.inner.api.run(write).await;
        let count = count.map_err(|error| error.trouble("delete sessions that are over"))?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }
}
