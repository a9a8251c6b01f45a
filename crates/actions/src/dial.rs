//! A TCP connection to a host that a user chose.
//!
//! The one place of the project that does this: it resolves, asks the egress rules about every address it
//! found, and dials only those that passed. What is checked is what is dialled.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::net::TcpStream;

use crate::egress::{Egress, Refusal};
use crate::resolve::Resolver;

/// How long one address gets before the next is tried beside it (RFC 8305 suggests 250 ms).
const HEAD_START: Duration = Duration::from_millis(250);

/// Addresses tried for one name; a name with more is somebody's joke.
const ADDRESSES_MAX: usize = 8;

/// Connects to hosts that users chose.
pub(crate) struct Dialer {
    egress: Egress,
    resolver: Resolver,
    timeout: Duration,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    #[error("the name {0:?} has no address")]
    Unresolved(Box<str>),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("could not connect")]
    Unreachable(#[source] io::Error),
    #[error("connecting took too long")]
    TimedOut,
}

impl Dialer {
    /// A dialer that gives up after `timeout`, also where nobody waits any more: a pool may go on
    /// connecting for later use.
    pub(crate) fn new(egress: Egress, timeout: Duration) -> Self {
        Self { egress, resolver: Resolver::new(), timeout }
    }

    /// How long one step of connecting may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Connects to a name or an address; IPv6 with or without brackets.
    pub(crate) async fn dial(&self, host: &str, port: u16) -> Result<TcpStream, DialError> {
        tokio::time::timeout(self.timeout, self.dial_in_time(host, port))
            .await
            .unwrap_or(Err(DialError::TimedOut))
    }

    async fn dial_in_time(&self, host: &str, port: u16) -> Result<TcpStream, DialError> {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        let stream = match bare.parse::<IpAddr>() {
            Ok(address) => self.reach(&[address], port).await?,
            Err(_) => {
                let found = self.resolver.resolve(bare).await;
                let addresses = found.map_err(|_| DialError::Unresolved(bare.into()))?;
                self.reach(&addresses, port).await?
            }
        };
        // Requests are small and complete: waiting to fill a segment only costs time.
        stream.set_nodelay(true).map_err(DialError::Unreachable)?;
        Ok(stream)
    }

    /// Connects to the first of the allowed addresses that answers.
    async fn reach(&self, addresses: &[IpAddr], port: u16) -> Result<TcpStream, DialError> {
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
        match (allowed.as_slice(), refusal) {
            ([only], _) => TcpStream::connect(only).await.map_err(DialError::Unreachable),
            ([], Some(refused)) => Err(refused.into()),
            (several, _) => race(several).await.map_err(DialError::Unreachable),
        }
    }
}

/// Tries the addresses in order, each with a head start over the next.
async fn race(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut waiting = addresses.iter();
    let mut trying = FuturesUnordered::new();
    let mut last_error = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        if let Some(address) = waiting.next() {
            trying.push(TcpStream::connect(*address));
        } else if trying.is_empty() {
            return Err(last_error);
        }
        let next = if waiting.len() > 0 {
            tokio::time::timeout(HEAD_START, trying.next()).await.unwrap_or(None)
        } else {
            trying.next().await
        };
        match next {
            Some(Ok(stream)) => return Ok(stream),
            Some(Err(error)) => last_error = error,
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
            let refused = dialer.dial(host, port).await;
            assert!(matches!(refused, Err(DialError::Refused(_))), "{host}: {refused:?}");
        }
    }

    #[tokio::test]
    async fn a_link_local_address_with_a_zone_is_refused() {
        let refused = dialer(&[]).dial("fe80::1%lo", 80).await;
        assert!(matches!(refused, Err(DialError::Refused(_) | DialError::Unresolved(_))), "{refused:?}");
    }

    #[tokio::test]
    async fn an_allowed_address_is_reached() {
        let (_listener, port) = listener().await;
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
            let stream = dialer(&[]).dial(host, port).await;
            assert!(stream.is_ok_and(|stream| stream.nodelay().unwrap()), "{host}");
        }
    }

    #[tokio::test]
    async fn a_dead_address_does_not_hide_a_living_one() {
        let (_listener, port) = listener().await;
        let dead = SocketAddr::from(([127, 0, 0, 2], 1));
        let stream = race(&[dead, SocketAddr::from(([127, 0, 0, 1], port))]).await;
        assert!(stream.is_ok(), "{stream:?}");
        assert!(race(&[dead, dead]).await.is_err());
    }
}
