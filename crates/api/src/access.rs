//! Who calls: the tokens that are known, and the caller of a request.
//!
//! All tokens are kept in memory, by the hash of their secret, so that a request asks no store. Whatever changes
//! them is told by [`Callers::token_changes`], and they are read again; the endpoints of tokens wait for that, so that
//! a token that was revoked is refused when its owner is told so. Uses are kept beside the tokens and written once a
//! minute. Whoever signed in by a token's id and secret sends a JWT instead, which is looked up there as well
//! ([`principal`]), or one of an issuer of OpenID Connect ([`issuer`]). Whoever signed in on the web page shows the cookie of a
//! session instead ([`session`]). Times are those of the real clock: a virtual one moves the schedule, not the rights of callers.

mod answer;
mod client;
mod issuer;
mod key_cache;
mod known;
mod principal;
mod session;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures_util::future::join_all;
use http::{HeaderMap, Method, header};
use jiff::Timestamp;
use punctual_jwt::Parsed;
use punctual_model::Clock;
use punctual_model::access::{Caller, Session, Token, TokenSecret};
use punctual_store::{Callers, Trouble};
use tokio::sync::Mutex;
use tokio::time::MissedTickBehavior;

pub(crate) use self::answer::Unidentified;
pub use self::client::ClientSettings;
use self::client::SpentSignIns;
pub(crate) use self::client::{Attempt, NotSignedIn, plain};
use self::issuer::Issuer;
pub use self::issuer::{IssuerSettings, Rule};
pub use self::key_cache::IssuerTransport;
use self::known::Known;
use self::principal::Signer;
pub use self::session::SessionSettings;
use self::session::SessionUses;
use crate::{cookie, origin};

/// How often uses are written.
const NOTE_INTERVAL: Duration = Duration::from_secs(60);

/// How long to wait after the tokens could not be read before they are read again: a revocation shall be in force
/// within a second.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Whether callers must say who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessMode {
    /// No: everybody may do everything.
    Off,
    /// As soon as there is a token.
    Auto,
    /// Yes.
    Required,
}

/// Knows who calls.
pub struct Access {
    store: Arc<dyn Callers>,
    clock: Arc<dyn Clock>,
    mode: AccessMode,
    known: RwLock<Arc<Known>>,
    /// Whether callers must say who they are now. True until the tokens were read once; from then on it does not
    /// go back to false, so that whoever revokes the last token does not open the server.
    required: AtomicBool,
    /// Held while tokens are read and put in place: an older reading must not take the place of a newer one.
    reading: Mutex<bool>,
    signer: Signer,
    issuers: Vec<Issuer>,
    session_settings: SessionSettings,
    session_uses: SessionUses,
    spent_sign_ins: SpentSignIns,
}

/// Who sent a request.
pub(crate) struct Identity {
    pub(crate) caller: Caller,
    /// The session by which that is known, if it is by one.
    pub(crate) session: Option<Session>,
}

impl From<Caller> for Identity {
    fn from(caller: Caller) -> Self {
        Self { caller, session: None }
    }
}

impl Access {
    /// Knows nobody before the first [refresh](Self::refresh). The clock is the real one.
    pub fn new(store: Arc<dyn Callers>, clock: Arc<dyn Clock>, mode: AccessMode) -> Self {
        let required = AtomicBool::new(mode != AccessMode::Off);
        let (known, reading, signer) = (RwLock::default(), Mutex::new(false), Signer::default());
        Self {
            store,
            clock,
            mode,
            known,
            required,
            reading,
            signer,
            issuers: Vec::new(),
            session_settings: SessionSettings::default(),
            session_uses: SessionUses::default(),
            spent_sign_ins: SpentSignIns::default(),
        }
    }

    /// The same that also takes tokens of issuers of OpenID Connect. Their keys are fetched while it is
    /// [attended](Self::attend).
    pub fn with_issuers(mut self, issuers: Vec<IssuerSettings>) -> Self {
        self.issuers = issuers.into_iter().map(Issuer::new).collect();
        self
    }

    /// The same with other lives of sessions.
    pub fn with_sessions(mut self, settings: SessionSettings) -> Self {
        self.session_settings = settings;
        self
    }

    /// Reads the tokens anew. What was changed before the call is in force after it.
    pub async fn refresh(&self) -> Result<(), Trouble> {
        let mut read_once = self.reading.lock().await;
        let tokens = self.store.tokens().await?;
        let any = !tokens.is_empty() || !self.issuers.is_empty();
        let known = Arc::new(Known::new(tokens, &self.known()));
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        if self.mode == AccessMode::Auto && (any || !*read_once) {
            self.required.store(any, Ordering::Release);
        }
        *read_once = true;
        Ok(())
    }

    /// Whether callers must say who they are.
    pub fn required(&self) -> bool {
        self.required.load(Ordering::Acquire)
    }

    /// Whether nobody can say who they are: there is no token at all, and no issuer.
    pub fn is_empty(&self) -> bool {
        self.known().is_empty() && self.issuers.is_empty()
    }

    /// Follows changes, notes uses and fetches the keys of issuers, for ever.
    pub async fn attend(&self) {
        let issuers = self.issuers.iter().map(|issuer| issuer.keys.attend());
        tokio::join!(self.attend_tokens(), join_all(issuers));
    }

    async fn attend_tokens(&self) {
        let mut changes = self.store.token_changes();
        let mut ticks = tokio::time::interval(NOTE_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                changed = changes.changed() => match changed {
                    Ok(()) => self.refresh_until_done().await,
                    // The store is closed, and with it this process is about to end.
                    Err(_) => std::future::pending().await,
                },
                _ = ticks.tick() => {
                    self.note_token_uses().await;
                    self.keep_sessions().await;
                }
            }
        }
    }

    async fn refresh_until_done(&self) {
        while let Err(error) = self.refresh().await {
            tracing::warn!(%error, "could not read the tokens after a change; trying again");
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }

    /// Writes the uses of tokens and sessions that were not written yet.
    pub async fn note_uses(&self) {
        self.note_token_uses().await;
        if let Err(error) = self.note_session_uses().await {
            tracing::warn!(%error, "could not note the uses of sessions");
        }
    }

    /// Writes the uses that were not written yet. What can't be written is tried again with the next ones.
    async fn note_token_uses(&self) {
        let known = self.known();
        let uses = known.unnoted();
        if uses.is_empty() {
            return;
        }
        match self.store.note_token_uses(&uses).await {
            Ok(()) => known.noted(&uses),
            Err(error) => tracing::warn!(%error, "could not note the uses of tokens"),
        }
    }

    /// Who sent a request with these headers. The header `Authorization` wins over the cookie of a session: whoever sends
    /// it is no page of another site. A cookie counts only if a page of this server sent it along.
    pub(crate) async fn identify(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Identity, Unidentified> {
        if !self.required() {
            return Ok(Caller::anonymous().into());
        }
        if headers.contains_key(header::AUTHORIZATION) {
            return self.identify_bearer(headers).await.map(Identity::from);
        }
        match cookie::session(headers) {
            None => Err(Unidentified::Missing),
            Some(cookie) => {
                origin::check_page(method, headers).map_err(Unidentified::Undecided)?;
                let (caller, session) = self.session(cookie, self.now()).await?;
                Ok(Identity { caller, session: Some(session) })
            }
        }
    }

    async fn identify_bearer(&self, headers: &HeaderMap) -> Result<Caller, Unidentified> {
        let now = self.now();
        let token = read_bearer(headers, now)?;
        let Some(secret) = TokenSecret::parse(token) else {
            if let Some(known) = self.remembered(token, now) {
                return known;
            }
            let parsed = Parsed::read(token).map_err(|_| Unidentified::Invalid { why: NO_TOKEN, now })?;
            return match self.issuers.iter().find(|issuer| issuer.is_claimed_by(&parsed)) {
                Some(issuer) => issuer.identify(token, parsed, now).await,
                None => self.principal(token, parsed).await?.ok_or_else(|| Unidentified::unknown(now)),
            };
        };
        let known = self.known();
        let Some(entry) = known.find(&secret.hash()) else { return Err(Unidentified::unknown(now)) };
        if let Some(expired_at) = entry.expires_at.filter(|expires_at| *expires_at <= now) {
            return Err(Unidentified::Expired { expired_at, now });
        }
        entry.used(now);
        Ok(entry.caller.clone())
    }

    /// Who sent a JWT that was verified before: it is not even read again.
    fn remembered(&self, token: &str, now: Timestamp) -> Option<Result<Caller, Unidentified>> {
        let of_issuers = || self.issuers.iter().find_map(|issuer| issuer.remembered(token, now));
        self.remembered_principal(token, now).or_else(of_issuers)
    }

    /// The tokens as they are stored, with uses that are not written yet.
    pub(crate) async fn tokens(&self) -> Result<Vec<Token>, Trouble> {
        let mut tokens = self.store.tokens().await?;
        let known = self.known();
        for token in &mut tokens {
            token.last_used_at = token.last_used_at.max(known.last_use(&token.hash));
        }
        Ok(tokens)
    }

    /// What keeps the tokens.
    pub(crate) fn store(&self) -> &dyn Callers {
        &*self.store
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Why something is refused that is no token at all.
const NO_TOKEN: &str = "It is no token: those of this server have 53 characters and begin with 'pct_', others are JSON Web \
                        Tokens. It may be cut off or mistyped.";

/// The token that a request carries.
fn read_bearer(headers: &HeaderMap, now: Timestamp) -> Result<&str, Unidentified> {
    let invalid = |why| Unidentified::Invalid { why, now };
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().ok_or(Unidentified::Missing)?;
    if values.next().is_some() {
        return Err(invalid("There is more than one 'Authorization' header."));
    }
    let text = value
        .to_str()
        .map_err(|_| invalid("The 'Authorization' header has characters that no token has."))?;
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    if !scheme.eq_ignore_ascii_case("Bearer") {
        return Err(invalid("The 'Authorization' header must be 'Bearer' and a token."));
    }
    Ok(token.trim())
}
