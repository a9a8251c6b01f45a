//! The other end of a connection: what can be said about it when something fails.

use std::net::SocketAddr;

use crate::first_bytes::{DetectedProtocol, FirstBytes};

#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// What we speak with it.
    pub(crate) protocol: Protocol,
    /// The connection is over TLS.
    pub(crate) secure: bool,
    /// What it sent first, after TLS was removed.
    pub(crate) first_bytes: FirstBytes,
}

/// What we speak with a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http,
    Amqp,
}

impl Protocol {
    /// How a URL of this protocol begins, with or without TLS.
    pub(crate) fn scheme(self, secure: bool) -> &'static str {
        match (self, secure) {
            (Self::Http, false) => "http://",
            (Self::Http, true) => "https://",
            (Self::Amqp, false) => "amqp://",
            (Self::Amqp, true) => "amqps://",
        }
    }
}

impl Peer {
    pub(crate) fn new(address: SocketAddr, protocol: Protocol, secure: bool) -> Self {
        Self { address, protocol, secure, first_bytes: FirstBytes::default() }
    }

    /// Returns the protocol that the peer speaks, as far as its first bytes tell.
    pub(crate) fn detected(&self) -> DetectedProtocol {
        self.first_bytes.detected()
    }

    /// Returns the advice for a peer that answers with TLS on a connection without TLS.
    pub(crate) fn tls_advice(&self) -> Option<String> {
        let scheme = self.protocol.scheme(true);
        (!self.secure && self.detected() == DetectedProtocol::Tls)
            .then(|| format!("speaks TLS; the address must begin with {scheme}"))
    }
}
