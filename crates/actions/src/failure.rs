//! Why an attempt got no answer, as the history says it.
//!
//! A text begins like the original service's, because PowerShell parses it. Then it says what is wrong, at which
//! address and port, and what to do. It contains no path, query, user information, header or body: everybody who may
//! read the job sees the history.

mod connect;
mod exchange;
mod secure;

use std::borrow::Cow;
use std::error::Error;
use std::time::Duration;
use std::{fmt, io};

use punctual_model::OutcomeKind;

use crate::client::RequestError;

/// A member of .NET's `WebExceptionStatus` and a sentence. Contains no secret: users see it.
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

    /// Returns the word for logs.
    pub(crate) fn kind(&self) -> OutcomeKind {
        OutcomeKind::Word(self.word)
    }

    /// It may not be sent any more. Nobody reads this: what was not sent is not recorded.
    pub(crate) fn withdrawn() -> Self {
        Self::new("RequestCanceled", "The attempt was withdrawn before anything was sent")
    }

    /// The request can't be sent as it is defined.
    pub(crate) fn unusable(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new("UnknownError", text)
    }

    /// A time limit was reached; `what` was not done in time.
    pub(crate) fn timeout(what: impl fmt::Display) -> Self {
        Self::new("Timeout", format!("The operation has timed out: {what}"))
    }

    /// There was no complete answer within the attempt's time.
    pub(crate) fn unanswered(after: Duration) -> Self {
        Self::timeout(format_args!("no complete answer within {}", Within(after)))
    }

    /// Whether the host name could not be resolved.
    pub(crate) fn unresolved(&self) -> bool {
        self.word == "NameResolutionFailure"
    }

    /// Returns the sentence without the word.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Translates an error of the HTTP client.
    pub(crate) fn of(error: &RequestError) -> Self {
        match error {
            RequestError::Withdrawn => Self::withdrawn(),
            RequestError::Connect(error) => Self::of_connect(error),
            RequestError::Exchange { peer, source, .. } => Self::of_exchange(peer, source),
        }
    }
}

/// Formats a time limit.
pub(crate) struct Within(pub(crate) Duration);

impl fmt::Display for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.subsec_nanos() == 0 {
            write!(f, "{} s", self.0.as_secs())
        } else {
            write!(f, "{} ms", self.0.as_millis())
        }
    }
}

/// Finds the first error of a type in a chain of sources.
pub(crate) fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // `io::Error::source` skips the error that it wraps.
        let wrapped = error.downcast_ref().and_then(io::Error::get_ref);
        next = wrapped.map_or_else(|| error.source(), |inner| Some(inner));
    }
    None
}
