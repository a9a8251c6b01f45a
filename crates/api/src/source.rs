//! Where a request comes from: the address of its caller.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use http::HeaderName;
use http::request::Parts;
use ipnet::IpNet;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The other end of the connection that a request came over. Whoever serves connections puts it into the extensions of
/// each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// The address of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(pub IpAddr);

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Source {
    /// The caller of a request: its peer, or the one that proxies which are trusted say. None if the peer is not known.
    ///
    /// Each proxy appends the address that it was called from to `X-Forwarded-For`, so the list is read from its end: an
    /// entry counts if the proxy that wrote it is trusted. What is in front of the first entry that is not a trusted proxy
    /// was written by the caller, and may be anything. `Forwarded` is not read: a proxy that writes one of the
    /// two lets the caller's own other one pass.
    pub(crate) fn of(parts: &Parts, trusted: &[IpNet]) -> Option<Self> {
        let Peer(peer) = parts.extensions.get::<Peer>()?;
        let mut found = peer.ip().to_canonical();
        let trusts = |ip: &IpAddr| trusted.iter().any(|network| network.contains(ip));
        // Most servers trust nobody, and read nothing.
        if !trusts(&found) {
            return Some(Self(found));
        }
        let lines: Vec<_> = parts.headers.get_all(X_FORWARDED_FOR).iter().collect();
        let entries = lines.iter().rev().flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
        for entry in entries {
            // What nobody can read ends what is known.
            let Some(ip) = std::str::from_utf8(entry).ok().and_then(read_address) else { break };
            found = ip;
            if !trusts(&found) {
                break;
            }
        }
        Some(Self(found))
    }
}

/// An address, perhaps with a port.
fn read_address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let ip = text.parse::<IpAddr>().ok();
    let ip = ip.or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()));
    let ip = ip.or_else(|| text.strip_prefix('[')?.strip_suffix(']')?.parse().ok());
    ip.map(|ip| ip.to_canonical())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn proxies_are_believed_as_far_as_they_are_trusted() {
        let check = |peer: &str, forwarded: &[&str], expected: &str| {
            let mut request = Request::builder().extension(Peer(peer.parse().unwrap()));
            for line in forwarded {
                request = request.header(X_FORWARDED_FOR, *line);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            let trusted = ["10.0.0.0/8", "fd00::/8", "127.0.0.1/32"].map(|network| network.parse().unwrap());
            let found = Source::of(&parts, &trusted).unwrap().to_string();
            assert_eq!(found, expected, "{peer} {forwarded:?}");
        };
        check("192.0.2.1:5", &[], "192.0.2.1");
        check("192.0.2.1:5", &["198.51.100.7"], "192.0.2.1");
        check("10.0.0.1:5", &[], "10.0.0.1");
        check("10.0.0.1:5", &["198.51.100.7"], "198.51.100.7");
        check("[::ffff:10.0.0.1]:5", &["198.51.100.7"], "198.51.100.7");
        check("127.0.0.1:5", &["198.51.100.7:4711"], "198.51.100.7");
        check("127.0.0.1:5", &[" [2001:db8::1]:4711 "], "2001:db8::1");
        check("127.0.0.1:5", &["[2001:db8::1]"], "2001:db8::1");
        // A caller that makes something up.
        check("10.0.0.1:5", &["203.0.113.9, 198.51.100.7"], "198.51.100.7");
        check("10.0.0.1:5", &["203.0.113.9", "198.51.100.7"], "198.51.100.7");
        check("10.0.0.1:5", &["203.0.113.9, 198.51.100.7, fd00::2", "10.0.0.2"], "198.51.100.7");
        check("10.0.0.1:5", &["127.0.0.1"], "127.0.0.1");
        check("10.0.0.1:5", &["10.0.0.3, 10.0.0.2"], "10.0.0.3");
        check("10.0.0.1:5", &["198.51.100.7, unknown"], "10.0.0.1");
        check("10.0.0.1:5", &["198.51.100.7, unknown, 10.0.0.2"], "10.0.0.2");
        check("10.0.0.1:5", &["198.51.100.7,"], "10.0.0.1");
        check("10.0.0.1:5", &[""], "10.0.0.1");
    }

    #[test]
    fn without_a_peer_nothing_is_known() {
        let request = Request::builder().header(X_FORWARDED_FOR, "198.51.100.7").body(()).unwrap();
        assert_eq!(Source::of(&request.into_parts().0, &["0.0.0.0/0".parse().unwrap()]), None);
    }
}
