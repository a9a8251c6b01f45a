//! Settings of issuers of OpenID Connect: `[[auth.issuers]]`, each with its `rules`.

use std::path::PathBuf;

use punctual_model::Scope;
use punctual_model::access::Role;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::read;

/// The largest allowance: clocks that differ by more are wrong.
const ALLOWANCE_SECONDS_MAX: u32 = 600;

/// An issuer whose tokens are taken.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IssuerConfig {
    #[serde(deserialize_with = "issuer")]
    pub(crate) issuer: String,
    #[serde(deserialize_with = "text")]
    pub(crate) audience: String,
    #[serde(default = "allowance_default", deserialize_with = "allowance")]
    pub(crate) allowance_seconds: u32,
    #[serde(default)]
    pub(crate) ca_file: PathBuf,
    /// Empty if nobody signs in through it.
    #[serde(default)]
    pub(crate) client_id: String,
    #[serde(default)]
    pub(crate) client_secret_file: PathBuf,
    /// The name of an environment variable.
    #[serde(default)]
    pub(crate) client_secret_env: String,
    #[serde(default = "scopes_default", deserialize_with = "scopes")]
    pub(crate) scopes: Vec<String>,
    /// Empty for the issuer's host.
    #[serde(default)]
    pub(crate) label: String,
    pub(crate) rules: Vec<RuleConfig>,
}

/// Grants a role to tokens with a claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleConfig {
    #[serde(deserialize_with = "text")]
    pub(crate) claim: String,
    #[serde(deserialize_with = "text")]
    pub(crate) value: String,
    #[serde(deserialize_with = "role")]
    pub(crate) role: Role,
    #[serde(deserialize_with = "scope")]
    pub(crate) scope: Scope,
}

fn allowance_default() -> u32 {
    60
}

fn scopes_default() -> Vec<String> {
    ["openid", "profile", "email"].map(str::to_owned).into()
}

/// Words that a provider is asked for.
fn scopes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let scopes = Vec::<String>::deserialize(deserializer)?;
    // As RFC 6749 has them.
    let fits = |letter: char| letter.is_ascii_graphic() && letter != '"' && letter != '\\';
    match scopes.iter().find(|scope| scope.is_empty() || !scope.chars().all(fits)) {
        None => Ok(scopes),
        Some(wrong) => Err(Error::custom(format!("scopes: '{wrong}' is not a scope such as groups"))),
    }
}

fn allowance<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let seconds = u32::deserialize(deserializer)?;
    if seconds <= ALLOWANCE_SECONDS_MAX {
        return Ok(seconds);
    }
    Err(Error::custom(format!("allowance_seconds must be at most {ALLOWANCE_SECONDS_MAX}, not {seconds}")))
}

/// The URL of an issuer. Whoever can read along must not choose its keys, so that it is https, but on this machine.
fn issuer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = |why: &str| {
        Error::custom(format!("issuer '{text}' {why}, such as https://login.example.com/realms/team"))
    };
    let (peer, uri) = crate::client::Peer::read(&text).map_err(wrong)?;
    if uri.query().is_some() {
        return Err(wrong("must have no query"));
    }
    if !peer.secure && !peer.is_local() {
        return Err(wrong("must begin with https://, unless it is on this machine"));
    }
    Ok(text)
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() { Err(Error::custom("audience, claim and value must not be empty")) } else { Ok(text) }
}

fn role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Role, D::Error> {
    let text = String::deserialize(deserializer)?;
    let unknown = || {
        Error::custom(read::unknown("role", &format!("'{text}'"), Role::ALL.iter().map(|role| role.name())))
    };
    Role::parse(&text).ok_or_else(unknown)
}

fn scope<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Scope, D::Error> {
    let text = String::deserialize(deserializer)?;
    punctual_arm::read_scope(&text).map_err(|why| Error::custom(format!("scope {why}")))
}
