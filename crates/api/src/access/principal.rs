//! Service principals: whoever signed in with the id and the secret of a token, and the key that signs what they got.
//!
//! The key is a secret of the store, made when it is first needed, so that what was issued before a restart or by another
//! node is taken. A JWT says which token it was issued for and has a fingerprint of its secret. Both are compared
//! with the tokens as they are at each request: one that was revoked, or rotated since, is refused at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_arm::sign_in::{CLIENT_CLAIMS, ClientCredentials, SignInError};
use punctual_jwt::{Claims, Parsed, SigningKey};
use punctual_model::access::{Caller, CallerKind, TokenSecret};
use punctual_model::{RandomSource, Secret};
use punctual_store::{Callers, Trouble};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::{Access, Unidentified};

/// The name of the key in the store.
const SIGNING_KEY: &str = "signing key";

/// How long what is issued is good. Clients fetch a new one some minutes before.
const LIFETIME: SignedDuration = SignedDuration::from_hours(1);

/// By how much the clock of the node that issued may be ahead of this one's.
const CLOCK_ALLOWANCE: SignedDuration = SignedDuration::from_secs(60);

/// How long a store without a key is not asked for one again, so that made-up tokens don't reach it.
const MISSING_INTERVAL: Duration = Duration::from_secs(1);

/// How many verified tokens are remembered: verifying one takes as long as a small request.
const VERIFIED_MAX: usize = 1_000;

/// Whoever has signed in.
pub(crate) struct Principal {
    pub(crate) caller: Caller,
    pub(crate) id: String,
    pub(crate) secret_fingerprint: String,
    pub(crate) issued_at: Timestamp,
    pub(crate) expires_at: Timestamp,
}

/// The key of this server, and what it is known to have signed.
#[derive(Default)]
pub(super) struct Signer {
    key: OnceCell<SigningKey>,
    missing_since: Mutex<Option<Instant>>,
    verified: Mutex<HashMap<Box<str>, Arc<Verified>>>,
}

/// What a genuine token says.
struct Verified {
    client_id: String,
    secret_fingerprint: String,
    not_before: i64,
    expires_at: i64,
}

impl Signer {
    /// The key; it is made if there is none.
    async fn key(&self, store: &dyn Callers, random: &dyn RandomSource) -> Result<&SigningKey, Trouble> {
        let make = async || {
            let kept = match store.server_secret(SIGNING_KEY).await? {
                Some(kept) => kept,
                None => store.keep_server_secret(SIGNING_KEY, &draw(random)).await?,
            };
            read_key(&kept)
        };
        self.key.get_or_try_init(make).await
    }

    /// The key if there is one.
    async fn known_key(&self, store: &dyn Callers) -> Result<Option<&SigningKey>, Trouble> {
        if let Some(key) = self.key.get() {
            return Ok(Some(key));
        }
        let missing_since = *self.missing_since.lock().unwrap_or_else(PoisonError::into_inner);
        if missing_since.is_some_and(|since| since.elapsed() < MISSING_INTERVAL) {
            return Ok(None);
        }
        match store.server_secret(SIGNING_KEY).await? {
            Some(kept) => self.key.get_or_try_init(async || read_key(&kept)).await.map(Some),
            None => {
                let now = Some(Instant::now());
                *self.missing_since.lock().unwrap_or_else(PoisonError::into_inner) = now;
                Ok(None)
            }
        }
    }

    fn remembered(&self, token: &str) -> Option<Arc<Verified>> {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner).get(token).cloned()
    }

    fn remember(&self, token: &str, verified: Verified) -> Arc<Verified> {
        let verified = Arc::new(verified);
        let mut all = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= VERIFIED_MAX {
            all.clear();
        }
        all.insert(token.into(), Arc::clone(&verified));
        verified
    }
}

impl Verified {
    fn of(claims: &Claims) -> Option<Self> {
        let (client_id, fingerprint) = CLIENT_CLAIMS;
        Some(Self {
            client_id: claims.text(client_id)?.to_owned(),
            secret_fingerprint: claims.text(fingerprint)?.to_owned(),
            not_before: claims.seconds("nbf")?,
            expires_at: claims.seconds("exp")?,
        })
    }
}

impl Access {
    /// The key that signs what the token endpoint issues; it is made if there is none.
    pub(crate) async fn signing_key(&self, random: &dyn RandomSource) -> Result<&SigningKey, Trouble> {
        self.signer.key(&*self.store, random).await
    }

    /// Who asks the token endpoint.
    pub(crate) fn sign_in(&self, asked: &ClientCredentials) -> Result<Principal, SignInError> {
        let now = self.now();
        let expires_at = now + LIFETIME;
        let known = self.known();
        let secret = TokenSecret::parse(asked.client_secret.expose());
        let entry = secret.as_ref().and_then(|secret| known.find(&secret.hash()));
        let Some(entry) = entry.filter(|entry| entry.caller.id.eq_ignore_ascii_case(&asked.client_id)) else {
            // Where everybody may do everything, clients that insist on signing in get something to send.
            let (id, secret_fingerprint) = (Caller::anonymous().id.to_string(), String::new());
            let caller = Caller::anonymous();
            let open = Principal { caller, id, secret_fingerprint, issued_at: now, expires_at };
            return if self.required() { Err(SignInError::unknown_client()) } else { Ok(open) };
        };
        if let Some(expired_at) = entry.expires_at.filter(|expires_at| *expires_at <= now) {
            return Err(SignInError::expired_client(expired_at));
        }
        entry.used(now);
        Ok(Principal {
            caller: Caller { kind: CallerKind::ServicePrincipal, ..entry.caller.clone() },
            id: entry.caller.id.to_string(),
            secret_fingerprint: entry.fingerprint.clone(),
            issued_at: now,
            expires_at: entry.expires_at.map_or(expires_at, |end| end.min(expires_at)),
        })
    }

    /// What a JWT claims that this server signed for itself, and for nobody to call with.
    pub(crate) async fn own_claims(&self, token: &str) -> Result<Option<Claims>, Trouble> {
        let Ok(parsed) = Parsed::read(token) else { return Ok(None) };
        let key = self.signer.known_key(&*self.store).await?;
        let Some(key) = key.filter(|key| parsed.key_id() == Some(key.id())) else { return Ok(None) };
        Ok(parsed.verify(key.public()).ok())
    }

    /// Who sent a JWT, if this server has issued it; none if somebody else has.
    pub(super) async fn principal(
        &self,
        token: &str,
        parsed: Parsed<'_>,
    ) -> Result<Option<Caller>, Unidentified> {
        let now = self.now();
        let key = self.signer.known_key(&*self.store).await.map_err(|error| Unidentified::trouble(&error))?;
        let Some(key) = key.filter(|key| parsed.key_id() == Some(key.id())) else { return Ok(None) };
        let claims = parsed.verify(key.public()).map_err(|_| Unidentified::forged(now))?;
        let verified = Verified::of(&claims).ok_or_else(|| Unidentified::unknown(now))?;
        self.holder(&self.signer.remember(token, verified), now).map(Some)
    }

    /// Who sent a JWT that was verified before.
    pub(super) fn remembered_principal(
        &self,
        token: &str,
        now: Timestamp,
    ) -> Option<Result<Caller, Unidentified>> {
        Some(self.holder(&*self.signer.remembered(token)?, now))
    }

    /// Whose a genuine JWT is, if it is good now.
    fn holder(&self, verified: &Verified, now: Timestamp) -> Result<Caller, Unidentified> {
        if verified.expires_at <= now.as_second() {
            let expired_at = Timestamp::from_second(verified.expires_at).unwrap_or(Timestamp::MIN);
            return Err(Unidentified::Expired { expired_at, now });
        }
        if verified.not_before > (now + CLOCK_ALLOWANCE).as_second() {
            return Err(Unidentified::too_early(now));
        }
        let known = self.known();
        let entry = known.find_by_id(&verified.client_id);
        let entry = entry.filter(|entry| entry.fingerprint == verified.secret_fingerprint);
        let Some(entry) = entry else { return Err(Unidentified::unknown(now)) };
        if let Some(expires_at) = entry.expires_at.filter(|expires_at| *expires_at <= now) {
            return Err(Unidentified::Expired { expired_at: expires_at, now });
        }
        entry.used(now);
        Ok(Caller { kind: CallerKind::ServicePrincipal, ..entry.caller.clone() })
    }
}

/// A new key, as it is stored: 64 hexadecimal digits.
fn draw(random: &dyn RandomSource) -> Secret {
    loop {
        let drawn = Secret::new(format!("{:032x}{:032x}", random.random(), random.random()));
        if read_key(&drawn).is_ok() {
            return drawn;
        }
    }
}

fn read_key(kept: &Secret) -> Result<SigningKey, Trouble> {
    let damaged = || Trouble::Corrupt {
        what: format!("the server's {SIGNING_KEY}"),
        detail: "it is no key".to_owned(),
    };
    let (high, low) = kept.expose().split_at_checked(32).ok_or_else(damaged)?;
    let mut secret = [0; 32];
    for (part, digits) in secret.chunks_mut(16).zip([high, low]) {
        let number = u128::from_str_radix(digits, 16).map_err(|_| damaged())?;
        part.copy_from_slice(&number.to_be_bytes());
    }
    SigningKey::new(&secret).ok_or_else(damaged)
}
