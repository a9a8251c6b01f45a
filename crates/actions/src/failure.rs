//! Why a target gave no answer, in the words that the history uses.
//!
//! A text begins as that of the original service did, since PowerShell and people know it. Behind that stands
//! what is wrong with which address and port, and what to do. It holds no path, query, user information, header
//! or body, since the history is shown to whoever may read the job.

mod connect;
mod exchange;
mod secure;

use std::borrow::Cow;
use std::error::Error;
use std::time::Duration;
use std::{fmt, io};

use punctual_model::OutcomeKind;

pub(crate) use self::exchange::{Peer, Protocol, wants_tls};

use crate::client::AskError;

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

    /// Not done in time; with what was not done.
    pub(crate) fn timeout(what: impl fmt::Display) -> Self {
        Self::new("Timeout", format!("The operation has timed out: {what}"))
    }

    /// The attempt's time was over before there was all of an answer.
    pub(crate) fn unanswered(after: Duration) -> Self {
        Self::timeout(format_args!("no complete answer within {}", Within(after)))
    }

    /// The target's name has no address.
    pub(crate) fn unresolved(&self) -> bool {
        self.word == "NameResolutionFailure"
    }

    /// The sentence alone.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What an error of the HTTP client comes to.
    pub(crate) fn of(error: &AskError) -> Self {
        match error {
            AskError::Connect(error) => Self::of_connect(error),
            AskError::Exchange { peer, source, .. } => Self::of_exchange(peer, source),
        }
    }
}

/// A time limit as it is told.
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
