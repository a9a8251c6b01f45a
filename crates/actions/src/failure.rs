//! Why a target gave no answer, in the words that the history uses.

use std::borrow::Cow;
use std::error::Error;
use std::{fmt, io};

use punctual_model::OutcomeKind;

use crate::connector::ConnectError;
use crate::dial::DialError;

/// A word of .NET's `WebExceptionStatus` and a sentence. Never holds anything secret: it is shown to users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    word: &'static str,
    text: Cow<'static, str>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.word, self.text)
    }
}

impl Failure {
    pub(crate) fn new(word: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        Self { word, text: text.into() }
    }

    /// The word, which is one of a few and fit for logs.
    pub(crate) fn kind(&self) -> OutcomeKind {
        OutcomeKind::Word(self.word)
    }

    /// The request can't be made as it was defined.
    pub(crate) fn unusable(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new("UnknownError", text)
    }

    /// Not done in time.
    pub(crate) fn timeout() -> Self {
        Self::new("Timeout", "The operation has timed out")
    }

    /// The target's name has no address.
    pub(crate) fn unresolved(&self) -> bool {
        self.word == "NameResolutionFailure"
    }

    /// What an error of the HTTP client comes to.
    pub(crate) fn of(error: &(dyn Error + 'static)) -> Self {
        if let Some(error) = find::<ConnectError>(error) {
            return Self::of_connect(error);
        }
        if let Some(error) = find::<rustls::Error>(error) {
            return secure_channel(Some(error));
        }
        match find::<hyper::Error>(error) {
            Some(error) if error.is_parse() => Self::new(
                "ServerProtocolViolation",
                format!("The server committed a protocol violation: {error}"),
            ),
            Some(error) if error.is_incomplete_message() => Self::new(
                "ReceiveFailure",
                "The underlying connection was closed: The connection was closed unexpectedly",
            ),
            _ => Self::new(
                "ReceiveFailure",
                "The underlying connection was closed: An unexpected error occurred on a receive",
            ),
        }
    }

    fn of_connect(error: &ConnectError) -> Self {
        match error {
            ConnectError::Dial(DialError::Unresolved(name)) => {
                Self::new("NameResolutionFailure", format!("The remote name could not be resolved: '{name}'"))
            }
            ConnectError::Dial(DialError::Refused(refusal)) => {
                Self::new("ConnectFailure", format!("Unable to connect to the remote server: {refusal}"))
            }
            ConnectError::Dial(DialError::Unreachable(_)) => {
                Self::new("ConnectFailure", "Unable to connect to the remote server")
            }
            ConnectError::Dial(DialError::TimedOut) => Self::timeout(),
            ConnectError::Tls(error) => match find::<rustls::Error>(error) {
                Some(rustls::Error::InvalidCertificate(reason)) => Self::new(
                    "TrustFailure",
                    format!(
                        "The underlying connection was closed: Could not establish trust relationship for the \
                         SSL/TLS secure channel: {}",
                        rustls::Error::InvalidCertificate(reason.clone())
                    ),
                ),
                other => secure_channel(other),
            },
            ConnectError::NoHost => Self::unusable("The URI names no host that can be connected to"),
        }
    }
}

fn secure_channel(error: Option<&rustls::Error>) -> Failure {
    let text = "The request was aborted: Could not create SSL/TLS secure channel";
    match error {
        Some(error) => Failure::new("SecureChannelFailure", format!("{text}: {error}")),
        None => Failure::new("SecureChannelFailure", text),
    }
}

/// The first error of a kind in a chain.
pub(crate) fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // An I/O error gives as its source the source of what it wraps, not what it wraps.
        let wrapped = error.downcast_ref().and_then(io::Error::get_ref);
        next = wrapped.map_or_else(|| error.source(), |inner| Some(inner));
    }
    None
}
