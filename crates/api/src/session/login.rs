//! A sign-in under way: what its browser keeps between being sent to a provider and coming back.
//!
//! It is in a cookie, signed by this server, so that nobody's sign-ins take space here, and any node can finish one that
//! another began. It is good for ten minutes and once.

use jiff::{SignedDuration, Timestamp};
use punctual_arm::ApiError;
use punctual_model::{RandomSource, Secret};
use serde_json::json;

use crate::access::Attempt;
use crate::answer::trouble;
use crate::state::ApiState;

/// How long a sign-in may take.
pub(super) const TIME_MAX: SignedDuration = SignedDuration::from_mins(10);

/// Tells this from whatever else this server signs.
const PURPOSE: &str = "sign-in under way";

/// A sign-in under way.
#[derive(Debug)]
pub(super) struct Login {
    pub(super) issuer: String,
    pub(super) attempt: Attempt,
    /// The path that the browser goes to afterwards.
    pub(super) return_to: String,
    pub(super) expires_at: Timestamp,
}

impl Login {
    /// A new one. All that identifies it is random.
    pub(super) fn begin(
        issuer: &str,
        redirect_uri: String,
        return_to: String,
        now: Timestamp,
        random: &dyn RandomSource,
    ) -> Self {
        let number = || format!("{:032x}", random.random());
        let (state, nonce) = (number(), number());
        let verifier = Secret::new(number() + &number());
        let attempt = Attempt { state, nonce, verifier, redirect_uri };
        let expires_at = now.saturating_add(TIME_MAX).unwrap_or(Timestamp::MAX);
        Self { issuer: issuer.to_owned(), attempt, return_to, expires_at }
    }

    /// What the cookie holds.
    pub(super) async fn seal(&self, state: &ApiState) -> Result<String, ApiError> {
        let key = state.access.signing_key(&*state.random).await.map_err(|error| trouble(&error))?;
        Ok(key.sign(&json!({
            "purpose": PURPOSE,
            "provider": self.issuer,
            "state": self.attempt.state,
            "nonce": self.attempt.nonce,
            "verifier": self.attempt.verifier.expose(),
            "redirect_uri": self.attempt.redirect_uri,
            "return_to": self.return_to,
            "exp": self.expires_at.as_second(),
        })))
    }

    /// Reads a cookie. None if this server did not sign it, and if it is too old.
    pub(super) async fn open(cookie: &str, state: &ApiState) -> Result<Option<Self>, ApiError> {
        let claims = state.access.own_claims(cookie).await.map_err(|error| trouble(&error))?;
        let Some(claims) = claims.filter(|claims| claims.text("purpose") == Some(PURPOSE)) else {
            return Ok(None);
        };
        let text = |name: &str| claims.text(name).map(str::to_owned);
        let read = || {
            Some(Self {
                issuer: text("provider")?,
                attempt: Attempt {
                    state: text("state")?,
                    nonce: text("nonce")?,
                    verifier: Secret::new(text("verifier")?),
                    redirect_uri: text("redirect_uri")?,
                },
                return_to: text("return_to")?,
                expires_at: Timestamp::from_second(claims.seconds("exp")?).ok()?,
            })
        };
        Ok(read().filter(|login| login.expires_at > state.access.now()))
    }
}
