//! Reads single settings, with messages that say what a valid value looks like.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ipnet::IpNet;
use jiff::Timestamp;
use punctual_store_postgres::ServerUrl;
use serde::de::{Deserialize, Deserializer, Error};

use super::{AuthMode, LogFormat, Role, SaslConfig, TlsMode};

/// An address and a port.
pub(super) fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| {
        Error::custom(format!("'{text}' is not an address and port, such as 127.0.0.1:8380 or [::1]:8380"))
    })
}

/// An address and a port on loopback; none if the text is empty.
pub(super) fn loopback<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    let address = text.parse().ok().filter(|address: &SocketAddr| address.ip().is_loopback());
    address.map(Some).ok_or_else(|| {
        Error::custom(format!("'{text}' is not a loopback address and port, such as 127.0.0.1:8381"))
    })
}

/// An address and a port; none if the text is empty.
pub(super) fn optional_address<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    let read = text.parse().map(Some);
    read.map_err(|_| Error::custom(format!("'{text}' is not an address and port, such as 127.0.0.1:8382")))
}

/// The URL of this server; empty if it is not set.
pub(super) fn public_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    if text.is_empty() || rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/')) {
        return punctual_api::check_prefix(&text).map(|()| text).map_err(Error::custom);
    }
    Err(Error::custom(format!("'{text}' is not a URL such as https://scheduler.example.com")))
}

/// The URL of the database that nodes share; none if the text is empty. It is never shown: it may have a password.
pub(super) fn store_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ServerUrl>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    ServerUrl::parse(&text).map(Some).map_err(Error::custom)
}

/// How many connections the API has to the database.
pub(super) fn api_connections<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    within(deserializer, 2, 1_000)
}

/// What a node is called; empty for the name of the host.
pub(super) fn node_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if text.len() <= 63 && text.chars().all(fits) {
        return Ok(text);
    }
    Err(Error::custom("must be at most 63 letters, digits, dots, hyphens and underscores, such as gva-1"))
}

/// For how long the beat of a node must stand still before others take over.
pub(super) fn takeover_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    within(deserializer, 3, 600)
}

/// How far the clock of a node may be off.
pub(super) fn clock_allowance_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    within(deserializer, 1, 60_000)
}

/// Host names, without scheme and port.
pub(super) fn hosts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let list = Vec::<String>::deserialize(deserializer)?;
    let read = |text: &String| {
        punctual_api::host_name(text).ok_or_else(|| {
            let why = if text.contains("://") || text.contains(':') {
                "; leave out scheme and port"
            } else if text.parse::<IpAddr>().is_ok() {
                "; an address needs none"
            } else {
                ""
            };
            Error::custom(format!("'{text}' is not a host name such as scheduler.example.com{why}"))
        })
    };
    list.iter().map(read).collect()
}

/// An instant; none if the text is empty.
pub(super) fn instant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    let read = punctual_recurrence::parse_instant(&text);
    read.map(Some).map_err(|why| Error::custom(format!("'{text}' {why}")))
}

/// The speed of a virtual clock: how many seconds it advances in a real one.
pub(super) fn speed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let speed = f64::deserialize(deserializer)?;
    if speed > 0.0 && speed <= 1_000_000.0 {
        return Ok(speed);
    }
    Err(Error::custom(format!("must be more than 0 and at most 1000000, not {speed}")))
}

/// A number of seconds, perhaps with a fraction.
pub(super) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| Error::custom(format!("must be 0 or more, not {seconds}")))
}

/// For how many seconds a step of the clock is held. Bounded: a server that fires nothing for longer is down.
pub(super) fn hold<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let hold = seconds(deserializer)?;
    if hold <= Duration::from_secs(3_600) {
        return Ok(hold);
    }
    Err(Error::custom(format!("must be at most 3600, not {}", hold.as_secs_f64())))
}

/// How many minutes a session may rest. Uses are written once a minute, so that it is no less than a few.
pub(super) fn idle_minutes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    within(deserializer, 5, 7 * 24 * 60)
}

/// How many hours a session may last.
pub(super) fn lifetime_hours<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    within(deserializer, 1, 30 * 24)
}

fn within<'de, D: Deserializer<'de>>(deserializer: D, least: u32, most: u32) -> Result<u32, D::Error> {
    let number = u32::deserialize(deserializer)?;
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    Err(Error::custom(format!("must be from {least} to {most}, not {number}")))
}

/// Networks, or single addresses.
pub(super) fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let list = Vec::<String>::deserialize(deserializer)?;
    let read = |text: &String| {
        let network = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
        network.ok_or_else(|| Error::custom(format!("'{text}' is not a network such as 10.0.0.0/8")))
    };
    list.iter().map(read).collect()
}

/// An id such as clients of Azure have for tenants and subscriptions.
pub(super) fn guid<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    checked_guid(&String::deserialize(deserializer)?).map_err(Error::custom)
}

/// Several of them.
pub(super) fn guids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let list = Vec::<String>::deserialize(deserializer)?;
    list.iter().map(|text| checked_guid(text)).collect::<Result<_, _>>().map_err(Error::custom)
}

fn checked_guid(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths = parts.iter().map(|part| part.len());
    let digits = parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if digits && lengths.eq([8, 4, 4, 4, 12]) {
        return Ok(text.to_ascii_lowercase());
    }
    Err(format!("'{text}' is not a GUID, such as 00000000-0000-4000-8000-000000000000"))
}

/// One of a few words.
fn word<T: Copy>(what: &str, text: &str, words: &[(&str, T)]) -> Result<T, String> {
    match words.iter().find(|(word, _)| *word == text) {
        Some((_, value)) => Ok(*value),
        None => Err(unknown(what, &format!("'{text}'"), words.iter().map(|(word, _)| *word))),
    }
}

/// The message about an unknown word, with the known ones.
pub(super) fn unknown<'a>(
    what: &str,
    word: &str,
    mut words: impl DoubleEndedIterator<Item = &'a str>,
) -> String {
    let last = words.next_back().unwrap_or_default();
    let others = words.collect::<Vec<_>>().join(", ");
    format!("unknown {what} {word}; use {others} or {last}")
}

impl TryFrom<String> for Role {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        word("role", &text, &[("all", Self::All), ("api", Self::Api), ("runner", Self::Runner)])
    }
}

impl TryFrom<String> for AuthMode {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        word("mode", &text, &[("auto", Self::Auto), ("required", Self::Required), ("off", Self::Off)])
    }
}

impl TryFrom<String> for TlsMode {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let words = [("off", Self::Off), ("self-signed", Self::SelfSigned), ("files", Self::Files)];
        word("mode", &text, &words)
    }
}

impl TryFrom<String> for SaslConfig {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        word("mechanism", &text, &[("cbs", Self::Cbs), ("plain", Self::Plain)])
    }
}

impl TryFrom<String> for LogFormat {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        word("format", &text, &[("text", Self::Text), ("json", Self::Json)])
    }
}
