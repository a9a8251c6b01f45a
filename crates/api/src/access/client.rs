//! This server as a client of an issuer: people sign in through it by an authorization code with PKCE.
//!
//! The ID token says who somebody is. It must be signed by a key of the issuer and be for this client, of now, and for this
//! very sign-in (`nonce`). Of its claims a session keeps those that a rule asks for; so what somebody may do follows the
//! rules as they are, and no more is stored than is needed. The token itself is not kept.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use punctual_jwt::{Claims, Parsed};
use punctual_model::Secret;
use punctual_model::access::{Caller, CallerKind, Grant, SessionHolder};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::issuer::{Issuer, IssuerSettings, names, subject_and_name};
use super::{Access, Unidentified};

/// What needs no escape in a form and in a query.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// How many codes are given for tokens at once. Everybody can come back with one that is made up, and must not have a
/// provider flooded in our name.
const REDEEMING_MAX: usize = 32;

/// How long somebody waits for their turn.
const TURN_TIME_MAX: Duration = Duration::from_secs(4);

/// The longest code that is passed on.
const CODE_BYTES_MAX: usize = 4 * 1024;

/// How many sign-ins that came back are remembered.
const SPENT_MAX: usize = 10_000;

/// What this server is to an issuer.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// Its client id there.
    pub id: String,
    /// Its client secret, if it has one.
    pub secret: Option<Secret>,
    /// What it asks for besides `openid`.
    pub scopes: Vec<String>,
    /// What people see before they sign in.
    pub label: String,
}

/// What one sign-in is known by, from its beginning to its end.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) state: String,
    pub(crate) nonce: String,
    /// What only this server can show when it asks for the token.
    pub(crate) verifier: Secret,
    /// Where the issuer sends people back to.
    pub(crate) redirect_uri: String,
}

/// Sign-ins that came back, until they are too old anyway. A provider takes a code once; this holds also if one does not.
#[derive(Default)]
pub(super) struct SpentSignIns(Mutex<HashMap<String, Timestamp>>);

impl SpentSignIns {
    /// Whether this is the first time that one came back.
    fn spend(&self, state: &str, expires_at: Timestamp, now: Timestamp) -> bool {
        let mut spent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if spent.len() >= SPENT_MAX {
            spent.retain(|_, expires_at| *expires_at > now);
        }
        if spent.len() >= SPENT_MAX {
            spent.clear();
        }
        spent.insert(state.to_owned(), expires_at).is_none()
    }
}

/// Why somebody did not sign in.
#[derive(Debug)]
pub(crate) enum NotSignedIn {
    /// The issuer can't be asked now.
    Unavailable,
    /// What came back can't be used: a sentence that says why.
    Refused(String),
    /// The issuer knows them, and no rule grants them anything.
    Stranger(Caller),
}

impl NotSignedIn {
    fn refused(why: &str) -> Self {
        Self::Refused(why.to_owned())
    }
}

/// How many of an issuer's codes can be given for tokens.
pub(super) fn redeeming() -> Semaphore {
    Semaphore::new(REDEEMING_MAX)
}

impl Access {
    /// The issuers that people can sign in through: each one's URL, and what it is called.
    pub(crate) fn sign_in_issuers(&self) -> impl Iterator<Item = (&str, &str)> {
        let clients =
            self.issuers.iter().filter_map(|issuer| Some((issuer, issuer.settings.client.as_ref()?)));
        clients.map(|(issuer, client)| (issuer.settings.url.as_str(), client.label.as_str()))
    }

    /// Whether a sign-in comes back for the first time.
    pub(crate) fn spend_sign_in(&self, state: &str, expires_at: Timestamp) -> bool {
        self.spent_sign_ins.spend(state, expires_at, self.now())
    }

    /// Where somebody is sent to sign in.
    pub(crate) async fn sign_in_url(&self, issuer: &str, attempt: &Attempt) -> Result<String, NotSignedIn> {
        let (issuer, client) = self.client_of(issuer)?;
        let endpoints = issuer.keys.endpoints().await.ok_or(NotSignedIn::Unavailable)?;
        let no_endpoint =
            || NotSignedIn::refused("The provider's configuration names no authorization endpoint.");
        let endpoint = endpoints.authorization.ok_or_else(no_endpoint)?;
        let mut scope = "openid".to_owned();
        for one in client.scopes.iter().filter(|one| *one != "openid") {
            scope.push(' ');
            scope.push_str(one);
        }
        let query = encoded(&[
            ("response_type", "code"),
            ("client_id", &client.id),
            ("redirect_uri", &attempt.redirect_uri),
            ("scope", &scope),
            ("state", &attempt.state),
            ("nonce", &attempt.nonce),
            ("code_challenge", &challenge(&attempt.verifier)),
            ("code_challenge_method", "S256"),
        ]);
        let separator = if endpoint.contains('?') { '&' } else { '?' };
        Ok(format!("{endpoint}{separator}{query}"))
    }

    /// Checks who sent somebody back, as far as that is said (RFC 9207): another issuer must not get this one's code.
    pub(crate) async fn check_sender(&self, issuer: &str, named: Option<&str>) -> Result<(), NotSignedIn> {
        let (issuer, _) = self.client_of(issuer)?;
        match named {
            Some(named) if named == issuer.settings.url => Ok(()),
            Some(_) => Err(NotSignedIn::refused("Another provider answers than the one that was asked.")),
            None => match issuer.keys.endpoints().await {
                Some(endpoints) if endpoints.names_itself => Err(NotSignedIn::refused(
                    "The provider does not say who it is, though it says that it does.",
                )),
                _ => Ok(()),
            },
        }
    }

    /// Who somebody is whom an issuer sent back with a code.
    pub(crate) async fn finish_sign_in(
        &self,
        issuer: &str,
        attempt: &Attempt,
        code: &str,
    ) -> Result<(Caller, SessionHolder), NotSignedIn> {
        let (issuer, client) = self.client_of(issuer)?;
        let token = issuer.redeem(client, attempt, code).await?;
        let now = self.now();
        let unreadable = |_| NotSignedIn::refused("The provider's ID token can't be read.");
        let parsed = Parsed::read(&token).map_err(unreadable)?;
        let claims = issuer.verify(parsed, now).await.map_err(|error| match error {
            Unidentified::Undecided(_) => NotSignedIn::Unavailable,
            _ => NotSignedIn::refused("The provider's ID token is not signed by one of its keys."),
        })?;
        let holder =
            issuer.settings.read_id_token(client, &claims, attempt, now).map_err(NotSignedIn::refused)?;
        match self.holder_of(&holder, now) {
            Some(caller) => Ok((caller, holder)),
            None => Err(NotSignedIn::Stranger(stranger(&holder))),
        }
    }

    fn client_of(&self, issuer: &str) -> Result<(&Issuer, &ClientSettings), NotSignedIn> {
        let found = self.issuers.iter().find(|one| one.signs_in_for(issuer));
        let found = found.and_then(|issuer| Some((issuer, issuer.settings.client.as_ref()?)));
        found.ok_or_else(|| NotSignedIn::refused("This server has no such provider any more."))
    }
}

impl Issuer {
    /// Whether people can sign in through it, and it is the one of this URL.
    pub(super) fn signs_in_for(&self, url: &str) -> bool {
        self.settings.client.is_some() && self.settings.url == url
    }

    /// The caller of whom a session keeps this, with what the rules grant now. None if that is nothing.
    pub(super) fn holder_of(&self, subject: &str, name: &str, claims: &[(String, String)]) -> Option<Caller> {
        let kept = |claim: &str, value: &str| claims.iter().any(|(one, its)| one == claim && its == value);
        let granting = self.settings.rules.iter().filter(|rule| kept(&rule.claim, &rule.value));
        let mut grants: Vec<Grant> = granting.map(|rule| rule.grant.clone()).collect();
        grants.sort();
        grants.dedup();
        (!grants.is_empty()).then(|| Caller { grants: grants.into(), ..nobody_called(subject, name) })
    }

    /// Gives a code for an ID token.
    async fn redeem(
        &self,
        client: &ClientSettings,
        attempt: &Attempt,
        code: &str,
    ) -> Result<String, NotSignedIn> {
        if code.is_empty() || code.len() > CODE_BYTES_MAX {
            return Err(NotSignedIn::refused("The provider sent no code, or one that is too long."));
        }
        let endpoints = self.keys.endpoints().await.ok_or(NotSignedIn::Unavailable)?;
        let no_endpoint = || NotSignedIn::refused("The provider's configuration names no token endpoint.");
        let endpoint = endpoints.token.ok_or_else(no_endpoint)?;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", attempt.redirect_uri.as_str()),
            ("code_verifier", attempt.verifier.expose()),
        ];
        let authorization = match &client.secret {
            Some(secret) if !endpoints.secret_in_body => Some(basic(&client.id, secret)),
            secret => {
                form.push(("client_id", &client.id));
                form.extend(secret.as_ref().map(|secret| ("client_secret", secret.expose())));
                None
            }
        };
        let form = Secret::new(encoded(&form));
        let Ok(Ok(_turn)) = timeout(TURN_TIME_MAX, self.redeeming.acquire()).await else {
            tracing::warn!(issuer = self.settings.url, "too many sign-ins come back at once");
            return Err(NotSignedIn::Unavailable);
        };
        let answered = self.settings.transport.post(&endpoint, form, authorization).await;
        let (status, body) = answered.map_err(|error| {
            tracing::warn!(issuer = self.settings.url, error, "could not ask a provider for an ID token");
            NotSignedIn::Unavailable
        })?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status != 200 {
            let error = plain(body["error"].as_str().unwrap_or_default());
            tracing::warn!(issuer = self.settings.url, status, error, "a provider gives no ID token");
            return Err(if status >= 500 {
                NotSignedIn::Unavailable
            } else if error == "invalid_client" || error == "unauthorized_client" {
                NotSignedIn::refused(
                    "The provider does not know this server: whoever runs it checks client_id and the client secret in \
                     auth.issuers.",
                )
            } else {
                NotSignedIn::Refused(format!(
                    "The provider does not take its code back, which is good once and for a short time ({error})."
                ))
            });
        }
        let token = body["id_token"].as_str().map(str::to_owned);
        token.ok_or_else(|| NotSignedIn::refused("The provider gives no ID token."))
    }
}

impl IssuerSettings {
    /// Who a genuine ID token is about; or what is wrong with it.
    fn read_id_token(
        &self,
        client: &ClientSettings,
        claims: &Claims,
        attempt: &Attempt,
        now: Timestamp,
    ) -> Result<SessionHolder, &'static str> {
        if claims.text("iss") != Some(&self.url) {
            return Err("The provider's ID token is of another issuer.");
        }
        let audience = claims.get("aud").filter(|audience| names(audience, &client.id));
        let audience = audience.ok_or("The provider's ID token is for another client.")?;
        let several = audience.as_array().is_some_and(|all| all.len() > 1);
        if claims.get("azp").map_or(several, |party| *party != client.id) {
            return Err("The provider's ID token was made for another client.");
        }
        if claims.text("nonce") != Some(&attempt.nonce) {
            return Err("The provider's ID token is of another sign-in.");
        }
        let (now, allowance) = (now.as_second(), self.allowance.as_secs());
        let expires_at =
            claims.seconds("exp").ok_or("The provider's ID token does not say when it expires.")?;
        if expires_at.saturating_add(allowance) <= now {
            return Err("The provider's ID token has expired.");
        }
        let begins_at = claims.seconds("nbf").max(claims.seconds("iat"));
        if begins_at.is_some_and(|at| at > now.saturating_add(allowance)) {
            return Err("The provider's ID token is not valid yet: its clock is ahead.");
        }
        let (subject, name) = subject_and_name(claims)
            .map_err(|_| "The provider's ID token has no 'sub', or one that is too long.")?;
        let found = self.rules.iter().filter(|rule| rule.applies(claims));
        let mut kept: Vec<(String, String)> =
            found.map(|rule| (rule.claim.clone(), rule.value.clone())).collect();
        kept.sort();
        kept.dedup();
        Ok(SessionHolder::OpenId {
            issuer: self.url.clone(),
            subject: subject.to_owned(),
            name,
            claims: kept,
        })
    }
}

/// The challenge of a verifier (RFC 7636, S256).
fn challenge(verifier: &Secret) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.expose().as_bytes()))
}

/// `Authorization` by client id and secret, both escaped first (RFC 6749, 2.3.1).
fn basic(id: &str, secret: &Secret) -> Secret {
    let escaped = |text| utf8_percent_encode(text, ESCAPED);
    let pair = Secret::new(format!("{}:{}", escaped(id), escaped(secret.expose())));
    Secret::new(format!("Basic {}", STANDARD.encode(pair.expose())))
}

fn encoded(pairs: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| format!("{name}={}", utf8_percent_encode(value, ESCAPED));
    pairs.iter().map(pair).collect::<Vec<_>>().join("&")
}

/// An error code of a provider, without anything that such codes don't have.
pub(crate) fn plain(code: &str) -> String {
    let letters = code.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '_');
    letters.take(60).collect()
}

fn stranger(holder: &SessionHolder) -> Caller {
    match holder {
        SessionHolder::OpenId { subject, name, .. } => nobody_called(subject, name),
        SessionHolder::Token { .. } => Caller::nobody(),
    }
}

fn nobody_called(subject: &str, name: &str) -> Caller {
    Caller { name: name.into(), id: subject.into(), kind: CallerKind::OpenId, grants: [].into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_that_of_the_standard() {
        // RFC 7636, appendix B.
        let verifier = Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn a_sign_in_comes_back_once_and_memory_is_bounded() {
        let spent = SpentSignIns::default();
        let now = Timestamp::UNIX_EPOCH;
        let later = Timestamp::from_second(600).unwrap();
        assert!(spent.spend("one", later, now));
        assert!(!spent.spend("one", later, now));
        for number in 0..SPENT_MAX * 2 {
            assert!(spent.spend(&number.to_string(), later, now));
        }
        assert!(spent.0.lock().unwrap().len() <= SPENT_MAX);
    }

    #[test]
    fn id_and_secret_are_escaped_before_they_are_put_together() {
        let header = basic("a:b", &Secret::new("p w+%"));
        assert_eq!(header.expose(), format!("Basic {}", STANDARD.encode("a%3Ab:p%20w%2B%25")));
        assert_eq!(encoded(&[("a", "x&y=z"), ("b", "")]), "a=x%26y%3Dz&b=");
    }

    #[test]
    fn a_code_of_an_error_has_letters_only() {
        assert_eq!(plain("invalid_grant"), "invalid_grant");
        assert_eq!(plain("<b onclick=x>&\u{202e}"), "bonclickx");
        assert_eq!(plain(&"a".repeat(999)).len(), 60);
    }
}
