//! Sessions of the web page.
//!
//! A session is looked up here with every request that shows its cookie, so that one that has ended is refused by every
//! node at once. What its holder may do is not stored with it.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::access::{Session, SessionId, TokenHash};
use punctual_model::audit::AuditEntry;

use crate::{Trouble, WriteError};

/// The most sessions of a store.
pub const SESSIONS_MAX: usize = 10_000;

/// The most sessions of one caller.
pub const SESSIONS_PER_CALLER_MAX: usize = 20;

/// Stores sessions. Each method is one transaction.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// The session whose secret has this hash, also if it has expired.
    async fn session(&self, hash: &TokenHash) -> Result<Option<Session>, Trouble>;

    /// The sessions behind an id, by id.
    async fn sessions(&self, after: Option<&SessionId>, limit: usize) -> Result<Vec<Session>, Trouble>;

    /// Writes a new session. If its caller has [`SESSIONS_PER_CALLER_MAX`] already, the one that was used longest ago
    /// ends. Refused as [`Refusal::TooManySessions`](crate::Refusal::TooManySessions) if there are [`SESSIONS_MAX`]
    /// nevertheless.
    async fn create_session(&self, session: &Session, note: Option<AuditEntry>) -> Result<(), WriteError>;

    /// Records when sessions were last used. Times before the recorded one and sessions that have ended are ignored.
    async fn note_session_uses(&self, uses: &[(TokenHash, Timestamp)]) -> Result<(), Trouble>;

    /// Ends a session. False if it does not exist.
    async fn end_session(&self, id: &SessionId, note: Option<AuditEntry>) -> Result<bool, Trouble>;

    /// Ends all sessions of a caller, of whatever issuer; how many those were. The note is written if there was one.
    async fn end_sessions_of(&self, caller_id: &str, note: Option<AuditEntry>) -> Result<usize, Trouble>;

    /// Deletes at most `limit` sessions that expired by now, or were last used at `unused_since` or before; how many
    /// those were.
    async fn prune_sessions(
        &self,
        now: Timestamp,
        unused_since: Timestamp,
        limit: usize,
    ) -> Result<usize, Trouble>;
}
