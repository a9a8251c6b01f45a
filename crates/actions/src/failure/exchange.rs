//! Translates errors of an HTTP exchange on an open connection.

use std::io::{self, ErrorKind};

use super::{Failure, find};
use crate::first_bytes::DetectedProtocol;
use crate::peer::Peer;

impl Failure {
    /// Translates an error of an HTTP exchange.
    pub(super) fn of_exchange(peer: &Peer, error: &hyper::Error) -> Self {
        if let Some(error) = find::<rustls::Error>(error) {
            return Self::of_tls(peer, error);
        }
        let address = peer.address;
        if let Some(advice) = peer.tls_advice() {
            return violation(&format!("{address} {advice}"));
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
        let silent = !peer.secure && peer.detected() == DetectedProtocol::None;
        let unexpected = "An unexpected error occurred on a receive";
        match find::<io::Error>(error).map(io::Error::kind) {
            _ if error.is_incomplete_message() && silent => closed(
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
