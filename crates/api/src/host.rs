//! The host that a request is addressed to, and the names under which this server answers.
//!
//! A page whose name is made to lead to this server (DNS rebinding) is of the same origin as the server in the eyes of
//! its browser, and could call everything. What it can't do is change the name that the browser puts into `Host`. So a
//! name must be one of ours; an address is not a name, and a page can't be loaded from it unless this server served it.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::request::Parts;
use http::{Version, header};
use punctual_arm::ApiError;

/// The name that always leads to the machine itself.
const LOCALHOST: &str = "localhost";

/// The names under which this server answers, besides `localhost`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    names: BTreeSet<String>,
    /// What is behind the first label of names such as `*.example.com`.
    domains: BTreeSet<String>,
}

impl Hosts {
    /// Takes host names, in any letter case; those that are none are left out. One that begins with `*.` stands for all
    /// names with one label in its place, as in certificates.
    pub fn new<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Self {
        let mut hosts = Self::default();
        for name in names {
            match name.as_ref().strip_prefix("*.") {
                Some(domain) => hosts.domains.extend(host_name(domain)),
                None => hosts.names.extend(host_name(name.as_ref())),
            }
        }
        hosts
    }

    /// Whether a request that is addressed to this host is for this server.
    fn contain(&self, host: &Host) -> bool {
        let Host::Name(name) = host else { return true };
        let below = || name.split_once('.').is_some_and(|(_, domain)| self.domains.contains(domain));
        name == LOCALHOST || self.names.contains(name) || below()
    }
}

/// A host name as it is compared: in lower case and without the dot at its end. None if it is not a host name.
pub fn host_name(text: &str) -> Option<String> {
    match Host::parse(text)? {
        Host::Name(name) => Some(name),
        Host::Ip(_) => None,
    }
}

/// The host of a URL, as a host name; none if it is an address, or the text is no URL.
pub fn host_name_of_url(url: &str) -> Option<String> {
    match Authority::of_url(url)?.1.host {
        Host::Name(name) => Some(name),
        Host::Ip(_) => None,
    }
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// In lower case, without the dot at its end.
    Name(String),
    Ip(IpAddr),
}

impl Host {
    fn parse(text: &str) -> Option<Self> {
        if let Some(literal) = text.strip_prefix('[') {
            // A zone is of meaning to the sender alone.
            let literal = literal.strip_suffix(']')?;
            let (address, zone) = literal.split_once('%').unwrap_or((literal, ""));
            let plain =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'%');
            if !zone.bytes().all(plain) {
                return None;
            }
            return address.parse::<Ipv6Addr>().ok().map(|ip| Self::Ip(IpAddr::V6(ip).to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        if let Ok(ip) = name.parse::<Ipv4Addr>() {
            return Some(Self::Ip(ip.into()));
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let label = |label: &str| !label.is_empty() && label.len() <= 63 && label.bytes().all(plain);
        (name.len() <= 253 && name.split('.').all(label)).then(|| Self::Name(name.to_ascii_lowercase()))
    }
}

/// A host, and a port if one is given: what `Host` and `:authority` hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authority {
    pub(crate) host: Host,
    pub(crate) port: Option<u16>,
}

impl Authority {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        // A colon within brackets belongs to the address.
        let behind = text.rfind(']').map_or(0, |end| end + 1);
        let (host, port) = match text[behind..].find(':') {
            None => (text, None),
            Some(colon) => (&text[..behind + colon], Some(&text[behind + colon + 1..])),
        };
        let port = match port {
            // "example.com:" is allowed, and the same as without.
            None | Some("") => None,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
            Some(_) => return None,
        };
        Some(Self { host: Host::parse(host)?, port })
    }

    /// The scheme of a URL, and its authority.
    pub(crate) fn of_url(url: &str) -> Option<(&str, Self)> {
        let (scheme, rest) = url.split_once("://")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        Some((scheme, Self::parse(&rest[..end])?))
    }
}

/// The host that a request is addressed to: by its `Host` header, by `:authority` over HTTP/2, or by a target that is a
/// whole URL. None if it says nothing of it, which only HTTP/1.0 may.
pub(crate) fn addressed(parts: &Parts) -> Result<Option<Authority>, ApiError> {
    let wrong = |why: &str| ApiError::bad_request(format!("{why} The request can't be served."));
    let mut headers = parts.headers.get_all(header::HOST).iter();
    let header = match headers.next() {
        None => None,
        Some(value) => {
            let read = value.to_str().ok().and_then(Authority::parse);
            Some(read.ok_or_else(|| wrong("The Host header is not a host and a port."))?)
        }
    };
    if headers.next().is_some() {
        return Err(wrong("There is more than one Host header."));
    }
    let target = match parts.uri.authority() {
        None => None,
        Some(authority) => {
            let read = Authority::parse(authority.as_str());
            Some(read.ok_or_else(|| wrong("The authority is not a host and a port."))?)
        }
    };
    match (target, header) {
        (Some(target), Some(header)) if target.host != header.host => {
            Err(wrong("The Host header and the target of the request name different hosts."))
        }
        (Some(target), _) => Ok(Some(target)),
        (None, Some(header)) => Ok(Some(header)),
        (None, None) if parts.version < Version::HTTP_11 => Ok(None),
        (None, None) => Err(wrong("There is no Host header.")),
    }
}

/// Refuses a request that is addressed to somebody else.
pub(crate) fn check(addressed: Option<&Authority>, hosts: &Hosts) -> Result<(), ApiError> {
    match addressed.map(|authority| &authority.host) {
        Some(host @ Host::Name(name)) if !hosts.contain(host) => Err(ApiError::misdirected(name)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_read_in_every_form() {
        let check = |text: &str, host: &str, port: Option<u16>| {
            let read = Authority::parse(text).unwrap_or_else(|| panic!("{text} is not read"));
            let shown = match &read.host {
                Host::Name(name) => name.clone(),
                Host::Ip(ip) => format!("ip {ip}"),
            };
            assert_eq!((shown.as_str(), read.port), (host, port), "{text}");
        };
        check("localhost", "localhost", None);
        check("LocalHost.:8380", "localhost", Some(8380));
        check("scheduler.example.com:443", "scheduler.example.com", Some(443));
        check("scheduler.example.com:", "scheduler.example.com", None);
        check("my_service-1", "my_service-1", None);
        check("127.0.0.1", "ip 127.0.0.1", None);
        check("127.0.0.1.:80", "ip 127.0.0.1", Some(80));
        check("[::1]:8380", "ip ::1", Some(8380));
        check("[::ffff:192.0.2.1]", "ip 192.0.2.1", None);
        check("[fe80::1%25eth0]:1", "ip fe80::1", Some(1));
        // What a browser would take for an address is a name here: it never sends it so.
        check("2130706433", "2130706433", None);
        check("0x7f.1", "0x7f.1", None);
    }

    #[test]
    fn what_is_no_host_is_not_taken_for_one() {
        let long = format!("{}.example", "x".repeat(64));
        for text in [
            "",
            ".",
            "..",
            "a..b",
            ".a",
            ":80",
            "a:b",
            "a:65536",
            "a:+1",
            "a:1:2",
            "a b",
            "user@host",
            "a/b",
            "a,b",
            "::1",
            "[::1",
            "::1]",
            "[::1]x",
            "[::1]x:1",
            "[fe80::1%25eth0]::1%25eth0]:1",
            "[fe80::1%25 a]",
            "[127.0.0.1]",
            "[]",
            "localhost\0",
            "exämple.com",
            "a%2eb",
            &long,
        ] {
            assert_eq!(Authority::parse(text), None, "{text:?}");
        }
        assert_eq!(Authority::parse(&"a.".repeat(200)), None);
    }

    #[test]
    fn names_are_compared_whole_and_in_any_letter_case() {
        let hosts = Hosts::new(["Scheduler.Example.com.", "*.Wild.example", "not a name"]);
        let ours = |text: &str| hosts.contain(&Host::parse(text).unwrap());
        for text in ["localhost", "scheduler.example.COM", "a.wild.example", "192.0.2.1", "[::1]"] {
            assert!(ours(text), "{text}");
        }
        for text in [
            "example.com",
            "x.scheduler.example.com",
            "scheduler.example.com.evil.example",
            "wild.example",
            "a.b.wild.example",
            "localhost.evil.example",
            "x.localhost",
            "2130706433",
            "com",
        ] {
            assert!(!ours(text), "{text}");
        }
    }

    #[test]
    fn the_host_of_a_url_is_a_name_of_ours() {
        let check = |url: &str, expected: Option<&str>| {
            assert_eq!(host_name_of_url(url).as_deref(), expected, "{url}");
        };
        check("https://Scheduler.example.com", Some("scheduler.example.com"));
        check("https://a.example:8443/base?x", Some("a.example"));
        check("https://192.0.2.1/", None);
        check("a.example", None);
    }
}
