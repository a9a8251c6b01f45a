//! TCP connections to hosts that users choose.
//!
//! No other module of the project makes them. It resolves the host name, checks every address against the egress
//! rules, and connects only to those that are allowed. The addresses that are checked are those that are connected
//! to: the name is not resolved again. Addresses of this server itself are refused.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::net::TcpStream;
use tokio::time::Instant;
use url::Host;

use crate::egress::{Egress, Refusal, views};
use crate::own::OwnAddresses;
use crate::resolve::{Resolver, Unresolved};

/// How long one address is tried before the next one is tried in parallel (RFC 8305 suggests 250 ms).
const HEAD_START: Duration = Duration::from_millis(250);

/// How long a name of this server may take to resolve while something else is connected to.
const OWN_NAME_TIME_MAX: Duration = Duration::from_secs(2);

/// How many addresses of one name are tried.
const ADDRESSES_MAX: usize = 8;

/// Connects to hosts that users choose.
pub(crate) struct Dialer {
    egress: Egress,
    resolver: Resolver,
    timeout: Duration,
    /// None if actions may call this server.
    own: RwLock<Option<Arc<OwnAddresses>>>,
    /// What the names of this server resolved to last: they count where they don't resolve now.
    own_resolved: Mutex<HashMap<Box<str>, Arc<[IpAddr]>>>,
}

/// A connection and the address of its peer.
#[derive(Debug)]
pub(crate) struct Dialed {
    pub(crate) stream: TcpStream,
    pub(crate) address: SocketAddr,
}

/// Why dialling failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    #[error("the name {name:?} has no address")]
    Unresolved { name: Box<str>, why: Unresolved },
    #[error("{refusal}, port {port}")]
    Refused { refusal: Refusal, port: u16 },
    #[error("{0} is an address of this server")]
    Own(SocketAddr),
    #[error("could not connect to any address")]
    Unreachable(Vec<(SocketAddr, io::Error)>),
    #[error("connecting took too long")]
    TimedOut { addresses: Vec<SocketAddr>, after: Duration },
}

/// When connecting must be done: name resolution, TCP and TLS together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Instant,
    pub(crate) after: Duration,
}

impl Deadline {
    /// Returns `None` if the work is not done in time.
    pub(crate) async fn limit<T>(self, work: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout_at(self.at, work).await.ok()
    }
}

impl Dialer {
    /// `timeout` is how long an attempt may take.
    pub(crate) fn new(egress: Egress, timeout: Duration) -> Self {
        Self {
            egress,
            resolver: Resolver::new(),
            timeout,
            own: RwLock::default(),
            own_resolved: Mutex::default(),
        }
    }

    /// Refuses these addresses from now on, instead of those that it did.
    pub(crate) fn refuse_own(&self, own: OwnAddresses) {
        *self.own.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(own));
    }

    /// How long an attempt may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Connecting has three quarters of an attempt's time: 45 s of 60. If it takes longer, the failure names the
    /// step that hangs, which the time-out of the whole attempt could not. A TCP handshake that has not succeeded
    /// after 45 s would not succeed within 60: Linux repeats the SYN after 31 s and next after 63 s.
    pub(crate) fn deadline(&self) -> Deadline {
        let after = self.timeout * 3 / 4;
        Deadline { at: Instant::now() + after, after }
    }

    /// Connects to a host name or an address; IPv6 with or without brackets.
    pub(crate) async fn dial(&self, host: &str, port: u16, deadline: Deadline) -> Result<Dialed, DialError> {
        let host = without_brackets(host);
        let dialed = match address(host) {
            Some(address) => self.connect_any(&[address], port, deadline).await?,
            None => {
                let found = deadline.limit(self.resolver.resolve(host)).await;
                let found = found.unwrap_or(Err(Unresolved::NoAnswer));
                let addresses = found.map_err(|why| DialError::Unresolved { name: host.into(), why })?;
                self.connect_any(&addresses, port, deadline).await?
            }
        };
        // Requests are small and written at once: waiting for more data would only delay them.
        match dialed.stream.set_nodelay(true) {
            Ok(()) => Ok(dialed),
            Err(error) => Err(DialError::Unreachable(vec![(dialed.address, error)])),
        }
    }

    /// Connects to the first of the allowed addresses that accepts.
    async fn connect_any(
        &self,
        addresses: &[IpAddr],
        port: u16,
        deadline: Deadline,
    ) -> Result<Dialed, DialError> {
        let mut refusal = None;
        let mut allowed = Vec::with_capacity(addresses.len().min(ADDRESSES_MAX));
        for &address in addresses {
            match self.egress.check(address) {
                Ok(()) if allowed.len() < ADDRESSES_MAX => {
                    allowed.push(SocketAddr::new(address.to_canonical(), port));
                }
                Ok(()) => {}
                Err(refused) => refusal = Some(refused),
            }
        }
        if let ([], Some(refusal)) = (allowed.as_slice(), refusal) {
            return Err(DialError::Refused { refusal, port });
        }
        // One is enough: a name that leads to this server and elsewhere must not get through now and then.
        if let Some(own) = self.own_address(&allowed, port).await {
            return Err(DialError::Own(own));
        }
        let connected = match allowed.as_slice() {
            [only] => deadline.limit(connect(*only)).await.map(|one| one.map_err(|error| vec![error])),
            several => deadline.limit(race(several)).await,
        };
        match connected {
            Some(connected) => connected.map_err(DialError::Unreachable),
            None => Err(DialError::TimedOut { addresses: allowed, after: deadline.after }),
        }
    }
}

impl Dialer {
    /// Returns the first of some addresses that leads to this server.
    async fn own_address(&self, addresses: &[SocketAddr], port: u16) -> Option<SocketAddr> {
        let own = self.own.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        if let Some(found) = addresses.iter().find(|address| own.listens_at(**address)) {
            return Some(*found);
        }
        for name in own.names_at(port) {
            let resolved = self.own_name(name).await;
            // Other services may share the address of a proxy: the operator can allow exactly that address.
            let leads_here = |address: &&SocketAddr| {
                views(address.ip()).any(|view| resolved.contains(&view) && !self.egress.allows_exactly(view))
            };
            if let Some(found) = addresses.iter().find(leads_here) {
                return Some(*found);
            }
        }
        None
    }
}

impl Dialer {
    /// What a name of this server resolves to, or did last. Where it never did, nobody reaches this server by it. A name
    /// server that does not answer must not keep actions from other addresses.
    async fn own_name(&self, name: &str) -> Arc<[IpAddr]> {
        if let Some(address) = address(without_brackets(name)) {
            return Arc::new([address.to_canonical()]);
        }
        let last = || self.own_resolved.lock().unwrap_or_else(PoisonError::into_inner);
        match tokio::time::timeout(OWN_NAME_TIME_MAX, self.resolver.resolve(name)).await {
            Ok(Ok(found)) => {
                let found: Arc<[IpAddr]> = found.iter().map(IpAddr::to_canonical).collect();
                last().insert(name.into(), Arc::clone(&found));
                found
            }
            Ok(Err(_)) | Err(_) => last().get(name).cloned().unwrap_or_default(),
        }
    }
}

/// Reads an address in every spelling, such as `127.1`: name servers must not be asked for it.
fn address(host: &str) -> Option<IpAddr> {
    host.parse().ok().or_else(|| match Host::parse(host) {
        Ok(Host::Ipv4(address)) => Some(address.into()),
        Ok(Host::Domain(_) | Host::Ipv6(_)) | Err(_) => None,
    })
}

/// Removes the brackets of an IPv6 address.
pub(crate) fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

async fn connect(address: SocketAddr) -> Result<Dialed, (SocketAddr, io::Error)> {
    match TcpStream::connect(address).await {
        Ok(stream) => Ok(Dialed { stream, address }),
        Err(error) => Err((address, error)),
    }
}

/// Tries the addresses in order, each with a head start over the next. If none accepts, returns all errors.
async fn race(addresses: &[SocketAddr]) -> Result<Dialed, Vec<(SocketAddr, io::Error)>> {
    let mut waiting = addresses.iter();
    let mut trying = FuturesUnordered::new();
    let mut errors = Vec::with_capacity(addresses.len());
    loop {
        if let Some(address) = waiting.next() {
            trying.push(connect(*address));
        } else if trying.is_empty() {
            return Err(errors);
        }
        let next = if waiting.len() > 0 {
            tokio::time::timeout(HEAD_START, trying.next()).await.unwrap_or(None)
        } else {
            trying.next().await
        };
        match next {
            Some(Ok(dialed)) => return Ok(dialed),
            Some(Err(error)) => errors.push(error),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::net::TcpListener;

    use super::*;

    fn dialer(deny: &[&str]) -> Dialer {
        let deny: Vec<_> = deny.iter().map(|text| text.parse().unwrap()).collect();
        Dialer::new(Egress::new(&[], &deny), Duration::from_secs(5))
    }

    async fn listener() -> (TcpListener, u16) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, port)
    }

    #[tokio::test]
    async fn a_denied_address_is_refused_in_every_spelling() {
        let (_listener, port) = listener().await;
        let dialer = dialer(&["127.0.0.0/8", "::1/128"]);
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f.1",
            "0x7f000001",
            "0177.0.0.1",
            "017700000001",
            "localhost",
            "[::ffff:127.0.0.1]",
            "::ffff:7f00:1",
            "[::1]",
            "0:0:0:0:0:0:0:1",
        ] {
            let refused = dialer.dial(host, port, dialer.deadline()).await;
            assert!(matches!(refused, Err(DialError::Refused { .. })), "{host}: {refused:?}");
        }
    }

    #[tokio::test]
    async fn a_link_local_address_with_a_zone_is_refused() {
        let dialer = dialer(&[]);
        let refused = dialer.dial("fe80::1%lo", 80, dialer.deadline()).await;
        assert!(
            matches!(refused, Err(DialError::Refused { .. } | DialError::Unresolved { .. })),
            "{refused:?}"
        );
    }

    #[tokio::test]
    async fn an_address_of_this_server_is_refused_however_it_is_named() {
        let (listener, port) = listener().await;
        let dialer = dialer(&[]);
        let mut own = OwnAddresses::default();
        own.add_listener(listener.local_addr().unwrap());
        dialer.refuse_own(own);
        for host in ["127.0.0.1", "127.1", "2130706433", "localhost", "[::ffff:127.0.0.1]"] {
            let refused = dialer.dial(host, port, dialer.deadline()).await;
            assert!(matches!(refused, Err(DialError::Own(_))), "{host}: {refused:?}");
        }
        let (_other, port) = self::listener().await;
        assert!(
            dialer.dial("127.0.0.1", port, dialer.deadline()).await.is_ok(),
            "another port is another server"
        );
    }

    #[tokio::test]
    async fn what_a_name_of_this_server_resolves_to_is_refused_unless_exactly_that_is_allowed() {
        let (_listener, port) = listener().await;
        let check = async |allow: &[&str], refused: bool| {
            let networks: Vec<_> = allow.iter().map(|text| text.parse().unwrap()).collect();
            let dialer = Dialer::new(Egress::new(&networks, &[]), Duration::from_secs(5));
            let mut own = OwnAddresses::default();
            own.add_name("localhost", port);
            own.add_name("no-such-host.invalid", port);
            dialer.refuse_own(own);
            let dialed = dialer.dial("127.0.0.1", port, dialer.deadline()).await;
            assert_eq!(matches!(dialed, Err(DialError::Own(_))), refused, "{allow:?}: {dialed:?}");
        };
        check(&[], true).await;
        check(&["127.0.0.0/8"], true).await;
        check(&["127.0.0.1/32"], false).await;
    }

    #[tokio::test]
    async fn an_allowed_address_is_reached() {
        let (_listener, port) = listener().await;
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
            let dialer = dialer(&[]);
            let dialed = dialer.dial(host, port, dialer.deadline()).await;
            assert!(dialed.is_ok_and(|dialed| dialed.stream.nodelay().unwrap()), "{host}");
        }
    }

    #[tokio::test]
    async fn a_dead_address_does_not_hide_a_living_one() {
        let (_listener, port) = listener().await;
        let dead = SocketAddr::from(([127, 0, 0, 2], 1));
        let alive = SocketAddr::from(([127, 0, 0, 1], port));
        assert_eq!(race(&[dead, alive]).await.unwrap().address, alive);
        assert_eq!(race(&[dead, dead]).await.unwrap_err().len(), 2, "all errors are returned");
    }
}
