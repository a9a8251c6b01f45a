//! Why a connection that was there brought no answer.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use super::{Failure, find};
use crate::first_bytes::Speech;

/// The other end of a connection, as far as it is known when something fails.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) protocol: Protocol,
    /// The connection is over TLS.
    pub(crate) secure: bool,
    /// How it began to speak, below TLS where there is TLS.
    pub(crate) speech: Speech,
}

/// What is spoken with a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http,
    Amqp,
}

impl Protocol {
    /// How the address begins where this is spoken with or without TLS.
    pub(crate) fn scheme(self, secure: bool) -> &'static str {
        match (self, secure) {
            (Self::Http, false) => "http://",
            (Self::Http, true) => "https://",
            (Self::Amqp, false) => "amqp://",
            (Self::Amqp, true) => "amqps://",
        }
    }
}

impl Failure {
    /// What an error of an exchange over HTTP comes to.
    pub(super) fn of_exchange(peer: &Peer, error: &hyper::Error) -> Self {
        if let Some(error) = find::<rustls::Error>(error) {
            return Self::of_tls(*peer, error);
        }
        let address = peer.address;
        if let Some(hint) = wants_tls(peer) {
            return violation(&format!("{address} {hint}"));
        }
        if error.is_parse_too_large() {
            return violation(&format!("the head of the answer of {address} is too large"));
        }
        if error.is_parse() {
            return violation(&format!("the answer of {address} is not valid HTTP: {error}"));
        }
        let closed = |how: &str, what: &str| {
            Self::new(
                "ReceiveFailure",
                format!("The underlying connection was closed: {how}: {address} {what}"),
            )
        };
        let unexpected = "An unexpected error occurred on a receive";
        match find::<io::Error>(error).map(io::Error::kind) {
            _ if error.is_incomplete_message() && peer.speech == Speech::Nothing && !peer.secure => closed(
                "The connection was closed unexpectedly",
                "closed it without an answer; if that port speaks TLS, the address must begin with https://",
            ),
            _ if error.is_incomplete_message() => {
                closed("The connection was closed unexpectedly", "closed it before the answer was complete")
            }
            Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted) => {
                closed(unexpected, "reset it before the answer was complete")
            }
            Some(ErrorKind::TimedOut) => closed(unexpected, "is not there any more"),
            _ => closed(unexpected, &format!("broke off the answer: {error}")),
        }
    }
}

fn violation(what: &str) -> Failure {
    Failure::new("ServerProtocolViolation", format!("The server committed a protocol violation: {what}"))
}

/// What to do if a peer that was spoken to in plain text answered with TLS.
pub(crate) fn wants_tls(peer: &Peer) -> Option<String> {
    let scheme = peer.protocol.scheme(true);
    (!peer.secure && peer.speech == Speech::Tls)
        .then(|| format!("speaks TLS; the address must begin with {scheme}"))
}
