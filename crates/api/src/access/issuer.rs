//! Issuers of OpenID Connect: callers who show a JWT of Entra ID, Keycloak or any other that the settings name.
//!
//! A token is taken if a key of its issuer has signed it, if it is for this server's audience, and if it is
//! valid now, with an allowance for clocks. Rules of the settings say what its claims grant.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use punctual_jwt::{Claims, Parsed};
use punctual_model::access::{Caller, CallerKind, Grant};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::Unidentified;
use super::client::{ClientSettings, redeeming};
use super::key_cache::{IssuerTransport, KeyCache, NoKey};

/// How many verified tokens of an issuer are remembered.
const VERIFIED_MAX: usize = 1_000;

/// The longest name and the longest id of a caller; what is longer is cut off or refused.
const NAME_CHARS_MAX: usize = 100;
const SUBJECT_BYTES_MAX: usize = 255;

/// The claims that name a caller, best first.
const NAMES: [&str; 6] = ["preferred_username", "upn", "email", "name", "azp", "client_id"];

/// An issuer whose tokens are taken.
pub struct IssuerSettings {
    /// As its tokens and its configuration write it.
    pub url: String,
    /// What tokens must be for.
    pub audience: String,
    /// How far its clock may differ.
    pub allowance: SignedDuration,
    /// What its tokens grant.
    pub rules: Vec<Rule>,
    /// What this server is to it, if people can sign in through it.
    pub client: Option<ClientSettings>,
    /// Asks it.
    pub transport: Arc<dyn IssuerTransport>,
}

/// Grants something to tokens with a claim.
pub struct Rule {
    /// The name of the claim, or the names on the way to one within others, with dots between them.
    pub claim: String,
    /// What the claim must be, or have among its values.
    pub value: String,
    /// What is granted.
    pub grant: Grant,
}

/// An issuer, its keys, and the tokens that were verified by them.
pub(super) struct Issuer {
    pub(super) settings: IssuerSettings,
    pub(super) keys: KeyCache,
    verified: Mutex<Remembered>,
    /// Places for codes that are given for tokens.
    pub(super) redeeming: Semaphore,
}

/// Tokens that were verified by the keys of one fetch.
#[derive(Default)]
struct Remembered {
    generation: u64,
    tokens: HashMap<Box<str>, Arc<Verified>>,
}

struct Verified {
    caller: Caller,
    not_before: Option<i64>,
    expires_at: i64,
}

impl Issuer {
    pub(super) fn new(settings: IssuerSettings) -> Self {
        let keys = KeyCache::new(&settings.url, Arc::clone(&settings.transport));
        Self { settings, keys, verified: Mutex::default(), redeeming: redeeming() }
    }

    /// Whether a token says that it is of this issuer.
    pub(super) fn is_claimed_by(&self, parsed: &Parsed<'_>) -> bool {
        parsed.claimed_issuer() == Some(&self.settings.url)
    }

    /// Who sent a token.
    pub(super) async fn identify(
        &self,
        token: &str,
        parsed: Parsed<'_>,
        now: Timestamp,
    ) -> Result<Caller, Unidentified> {
        let generation = self.keys.found().generation;
        let claims = self.verify(parsed, now).await?;
        let verified = self.settings.read(&claims).map_err(|why| Unidentified::Invalid { why, now })?;
        self.settings.holder(&self.remember(token, verified, generation), now)
    }

    /// What a token claims, if a key of this issuer has signed it.
    pub(super) async fn verify(&self, parsed: Parsed<'_>, now: Timestamp) -> Result<Claims, Unidentified> {
        let key = self.keys.key(parsed.key_id()).await.map_err(|no_key| match no_key {
            NoKey::Unknown => Unidentified::Invalid { why: "Its issuer has no such key.", now },
            NoKey::Unavailable => Unidentified::issuer_unavailable(),
        })?;
        parsed.verify(&key).map_err(|_| Unidentified::forged(now))
    }

    /// Who sent a token that was verified by the present keys.
    pub(super) fn remembered(&self, token: &str, now: Timestamp) -> Option<Result<Caller, Unidentified>> {
        let found = self.keys.found();
        let known = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        let verified =
            known.tokens.get(token).filter(|_| found.usable() && known.generation == found.generation)?;
        Some(self.settings.holder(verified, now))
    }

    /// Remembers a token, unless its key may be one that was withdrawn meanwhile.
    fn remember(&self, token: &str, verified: Verified, generation: u64) -> Arc<Verified> {
        let verified = Arc::new(verified);
        let mut known = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if known.generation != generation || known.tokens.len() >= VERIFIED_MAX {
            *known = Remembered { generation, tokens: HashMap::new() };
        }
        known.tokens.insert(token.into(), Arc::clone(&verified));
        verified
    }
}

impl IssuerSettings {
    /// What a genuine token says; or what is wrong with it.
    fn read(&self, claims: &Claims) -> Result<Verified, &'static str> {
        if claims.text("iss") != Some(&self.url) {
            return Err("Its issuer is not the one whose key has signed it.");
        }
        let audience = claims.get("aud").is_some_and(|audience| names(audience, &self.audience));
        if !audience {
            return Err(
                "It is not for this server: its 'aud' is not the audience that the settings of this server name.",
            );
        }
        let (subject, name) = subject_and_name(claims)?;
        let expires_at = claims.seconds("exp").ok_or("It has no 'exp'.")?;
        let granting = self.rules.iter().filter(|rule| rule.applies(claims));
        let mut grants: Vec<Grant> = granting.map(|rule| rule.grant.clone()).collect();
        grants.sort();
        grants.dedup();
        let caller =
            Caller { name: name.into(), id: subject.into(), kind: CallerKind::OpenId, grants: grants.into() };
        Ok(Verified { caller, not_before: claims.seconds("nbf"), expires_at })
    }

    /// Whose a genuine token is, if it is good now.
    fn holder(&self, verified: &Verified, now: Timestamp) -> Result<Caller, Unidentified> {
        let allowance = self.allowance.as_secs();
        if verified.expires_at.saturating_add(allowance) <= now.as_second() {
            let expired_at = Timestamp::from_second(verified.expires_at).unwrap_or(Timestamp::MIN);
            return Err(Unidentified::Expired { expired_at, now });
        }
        if verified.not_before.is_some_and(|at| at > now.as_second().saturating_add(allowance)) {
            return Err(Unidentified::too_early(now));
        }
        Ok(verified.caller.clone())
    }
}

/// The id of the caller that claims are about, and its name.
pub(super) fn subject_and_name(claims: &Claims) -> Result<(&str, String), &'static str> {
    let subject = claims.text("sub").filter(|subject| (1..=SUBJECT_BYTES_MAX).contains(&subject.len()));
    let subject = subject.ok_or("It has no 'sub', or one that is too long.")?;
    let name = NAMES.iter().find_map(|name| claims.text(name)).unwrap_or(subject);
    let name = name.chars().filter(|letter| !letter.is_control()).take(NAME_CHARS_MAX).collect();
    Ok((subject, name))
}

impl Rule {
    pub(super) fn applies(&self, claims: &Claims) -> bool {
        // Names with dots of their own, such as URLs, come first.
        let found = claims.get(&self.claim).or_else(|| {
            let mut names = self.claim.split('.');
            let first = claims.get(names.next()?)?;
            names.try_fold(first, |value, name| value.get(name))
        });
        // OAuth writes the scopes of a token as one text with blanks.
        let words = ["scope", "scp"].contains(&self.claim.as_str());
        found.is_some_and(|value| has(value, &self.value, words))
    }
}

/// Whether an audience is a name, or has it among its names.
pub(super) fn names(audience: &Value, name: &str) -> bool {
    has(audience, name, false)
}

/// Whether a claim is a text, has it among its values, or, if so asked, as one of its words.
fn has(claim: &Value, wanted: &str, words: bool) -> bool {
    match claim {
        Value::String(text) => text == wanted || (words && text.split(' ').any(|word| word == wanted)),
        Value::Array(values) => values.iter().any(|value| value.as_str() == Some(wanted)),
        Value::Bool(value) => wanted == if *value { "true" } else { "false" },
        Value::Null | Value::Number(_) | Value::Object(_) => false,
    }
}
