//! Sessions of the web page: whoever shows the cookie of one.
//!
//! A session is looked up in the store with each request, so that signing out holds on every node at once. What its holder
//! may do is looked up, too: in the tokens that are known, or by the rules of the issuer. So a token that is revoked or
//! rotated, and a rule that is gone, end what they gave. Uses are kept in memory and written once a minute.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use punctual_model::RandomSource;
use punctual_model::access::{Caller, Session, SessionHolder, SessionSecret, TokenHash, TokenSecret};
use punctual_model::audit::AuditEntry;
use punctual_store::{Trouble, WriteError};

use super::{Access, Unidentified};

/// How many sessions that are over are deleted in one transaction.
const PRUNE_STEP: usize = 500;

/// A session that rests is deleted so much later than it ends: other nodes write their uses once a minute.
const NOTING_ALLOWANCE: SignedDuration = SignedDuration::from_mins(3);

/// How long sessions live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionSettings {
    /// How long one may not be used before it ends.
    pub idle: SignedDuration,
    /// When it ends, however much it is used.
    pub lifetime: SignedDuration,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self { idle: SignedDuration::from_hours(1), lifetime: SignedDuration::from_hours(12) }
    }
}

/// Uses of sessions that were not written yet.
#[derive(Default)]
pub(super) struct SessionUses(Mutex<HashMap<TokenHash, Timestamp>>);

impl SessionUses {
    fn lock(&self) -> MutexGuard<'_, HashMap<TokenHash, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Access {
    /// The session whose secret a cookie holds, and who is signed in.
    pub(super) async fn session(
        &self,
        cookie: &str,
        now: Timestamp,
    ) -> Result<(Caller, Session), Unidentified> {
        let secret = SessionSecret::parse(cookie).ok_or(Unidentified::NoSession)?;
        let hash = secret.hash();
        let found = self.store.session(&hash).await.map_err(|error| Unidentified::trouble(&error))?;
        let mut session = found.ok_or(Unidentified::NoSession)?;
        session.last_used_at = session.last_used_at.max(self.last_use(&hash));
        let ended_at = session.ends_at(self.session_settings.idle);
        if ended_at <= now {
            return Err(Unidentified::SessionExpired { ended_at, now });
        }
        let caller = self.holder_of(&session.holder, now).ok_or(Unidentified::NoSession)?;
        session.last_used_at = session.last_used_at.max(now);
        self.session_uses.lock().insert(hash, session.last_used_at);
        if let SessionHolder::Token { id, .. } = &session.holder
            && let Some(entry) = self.known().find_by_id(&id.0)
        {
            entry.used(now);
        }
        Ok((caller, session))
    }

    /// The caller that holds a session, with what it may do now. None if it may not sign in any more.
    pub(crate) fn holder_of(&self, holder: &SessionHolder, now: Timestamp) -> Option<Caller> {
        match holder {
            SessionHolder::Token { id, secret_fingerprint } => {
                let known = self.known();
                let entry = known.find_by_id(&id.0)?;
                let good = entry.fingerprint == *secret_fingerprint
                    && entry.expires_at.is_none_or(|expires_at| expires_at > now);
                good.then(|| entry.caller.clone())
            }
            SessionHolder::OpenId { issuer, subject, name, claims } => {
                let issuer = self.issuers.iter().find(|one| one.signs_in_for(issuer))?;
                issuer.holder_of(subject, name, claims)
            }
        }
    }

    /// Who shows a token to sign in with.
    pub(crate) fn holder_by_token(&self, text: &str) -> Result<(Caller, SessionHolder), Unidentified> {
        let now = self.now();
        let secret = TokenSecret::parse(text.trim())
            .ok_or(Unidentified::Invalid { why: "It is no token of this server.", now })?;
        let known = self.known();
        let entry = known.find(&secret.hash()).ok_or_else(|| Unidentified::unknown(now))?;
        if let Some(expired_at) = entry.expires_at.filter(|expires_at| *expires_at <= now) {
            return Err(Unidentified::Expired { expired_at, now });
        }
        entry.used(now);
        let secret_fingerprint = entry.fingerprint.clone();
        Ok((entry.caller.clone(), SessionHolder::Token { id: entry.id.clone(), secret_fingerprint }))
    }

    /// Opens a session. Its secret is always a new one, whatever the browser has sent.
    pub(crate) async fn open_session(
        &self,
        holder: SessionHolder,
        random: &dyn RandomSource,
        note: impl FnOnce(&Session) -> Option<AuditEntry>,
    ) -> Result<(Session, SessionSecret), WriteError> {
        let (session, secret) = Session::open(holder, self.now(), self.session_settings.lifetime, random);
        self.store.create_session(&session, note(&session)).await?;
        Ok((session, secret))
    }

    /// When a session ends if it is not used again.
    pub(crate) fn idle_at(&self, session: &Session) -> Timestamp {
        session.ends_at(self.session_settings.idle)
    }

    /// Writes the uses of sessions that were not written yet, then deletes the sessions that are over. What can't be
    /// written is tried again with the next ones.
    pub(super) async fn keep_sessions(&self) {
        let kept = match self.note_session_uses().await {
            Ok(()) => self.prune_sessions().await,
            failed => failed,
        };
        match kept {
            Err(error) if error.outage().is_none() => tracing::warn!(%error, "could not keep the sessions"),
            // The store tells of an outage by itself.
            Ok(()) | Err(_) => {}
        }
    }

    /// Writes the uses of sessions that were not written yet.
    pub(super) async fn note_session_uses(&self) -> Result<(), Trouble> {
        let uses: Vec<(TokenHash, Timestamp)> =
            self.session_uses.lock().iter().map(|(hash, at)| (*hash, *at)).collect();
        if uses.is_empty() {
            return Ok(());
        }
        self.store.note_session_uses(&uses).await?;
        let mut kept = self.session_uses.lock();
        for (hash, at) in uses {
            // One that was used again meanwhile stays.
            if kept.get(&hash) == Some(&at) {
                kept.remove(&hash);
            }
        }
        Ok(())
    }

    async fn prune_sessions(&self) -> Result<(), Trouble> {
        let now = self.now();
        let unused_since =
            now.checked_sub(self.session_settings.idle + NOTING_ALLOWANCE).unwrap_or(Timestamp::MIN);
        while self.store.prune_sessions(now, unused_since, PRUNE_STEP).await? == PRUNE_STEP {}
        Ok(())
    }

    fn last_use(&self, hash: &TokenHash) -> Timestamp {
        self.session_uses.lock().get(hash).copied().unwrap_or(Timestamp::MIN)
    }
}
