//! Failures inside the store, their classes, and the errors that callers get.

use punctual_store::codec::CodecError;
use punctual_store::{Refusal, Trouble, WriteError};
use thiserror::Error;
use tokio_postgres::error::{Severity, SqlState};

/// A failure while a statement ran or a row was read.
#[derive(Debug, Error)]
pub(crate) enum PgError {
    #[error(transparent)]
    Sql(#[from] tokio_postgres::Error),
    #[error("could not read {what}: {detail}")]
    Unreadable { what: String, detail: String },
    /// There was no answer in time, and nothing was written.
    #[error("the database did not answer in time")]
    TimedOut,
    /// All connections were in use for too long.
    #[error("no connection became free in time")]
    NoneFree,
    /// It was sent and there was no answer: it may have happened.
    #[error("the database did not say whether it was written")]
    Unsure,
    /// A statement changed another number of rows than it must.
    #[error("a statement changed {0} rows, which can't be")]
    Rows(u64),
    #[error("the work on the request stopped unexpectedly")]
    Panicked,
    /// Another key seals than this node has.
    #[error(
        "key {0} seals, and it is not among the keys of this node: put it there, and start the node again"
    )]
    KeyUnknown(u32),
    /// A precondition does not hold; the transaction is rolled back.
    #[error("refused: {0:?}")]
    Refused(Refusal),
}

/// What to do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// It lost against somebody else: the same again, at once.
    Again,
    /// The connection is of no use: the same on a new one.
    Disconnected,
    /// Nothing can be written.
    Full,
    /// Nothing can be written now, but soon perhaps.
    Busy,
    /// Nothing helps.
    Final,
}

impl PgError {
    /// A document that can't be read. Codec errors never show content.
    pub(crate) fn unreadable(what: &'static str, error: &CodecError) -> Self {
        let detail = match error {
            CodecError::Sealed(source) => format!("{error}: {source}"),
            CodecError::UnknownVersion
            | CodecError::Damaged { .. }
            | CodecError::Invalid { .. }
            | CodecError::Mismatch => error.to_string(),
        };
        Self::Unreadable { what: what.to_owned(), detail }
    }

    /// A column with a value that no version of this program writes.
    pub(crate) fn invalid(what: &'static str) -> Self {
        Self::Unreadable { what: what.to_owned(), detail: "it has a value that is not known".to_owned() }
    }

    /// Why a row can't be read; `Err` for a failure that is not about the row.
    pub(crate) fn into_damage(self) -> Result<String, Self> {
        match self {
            Self::Unreadable { what, detail } => Ok(format!("{what}: {detail}")),
            // A column of another type than expected.
            Self::Sql(error) if error.as_db_error().is_none() && !lost(&error) => Ok(error.to_string()),
            other => Err(other),
        }
    }

    /// The same, naming the row if it is about one.
    pub(crate) fn of(self, what: impl FnOnce() -> String) -> Self {
        match self.into_damage() {
            Ok(detail) => Self::Unreadable { what: what(), detail },
            Err(other) => other,
        }
    }

    pub(crate) fn class(&self) -> Class {
        match self {
            Self::Sql(error) => class(error),
            Self::NoneFree => Class::Busy,
            Self::TimedOut
            | Self::Unsure
            | Self::Unreadable { .. }
            | Self::Rows(_)
            | Self::Panicked
            | Self::KeyUnknown(_)
            | Self::Refused(_) => Class::Final,
        }
    }

    /// Whether it was the server that ended the connection, rather than refused the statement: what was sent may have happened.
    pub(crate) fn is_fatal(&self) -> bool {
        match self {
            Self::Sql(error) => error.as_db_error().is_none_or(|error| {
                matches!(error.parsed_severity(), None | Some(Severity::Fatal | Severity::Panic))
            }),
            _ => false,
        }
    }

    /// The error for a caller.
    pub(crate) fn trouble(self, doing: &'static str) -> Trouble {
        let class = self.class();
        match self {
            Self::Unreadable { what, detail } => Trouble::Corrupt { what, detail },
            Self::Unsure => Trouble::Unsure { doing },
            Self::TimedOut | Self::NoneFree => Trouble::Busy { doing },
            Self::Rows(_) | Self::Panicked | Self::KeyUnknown(_) | Self::Refused(_) => {
                Trouble::Failed { doing, source: self.to_string().into() }
            }
            Self::Sql(error) => match class {
                Class::Again | Class::Busy => Trouble::Busy { doing },
                Class::Disconnected => Trouble::Closed { doing },
                Class::Full => Trouble::Full { doing },
                Class::Final => Trouble::Failed { doing, source: error.into() },
            },
        }
    }

    /// The error of a write.
    pub(crate) fn write_error(self, doing: &'static str) -> WriteError {
        match self {
            Self::Refused(refusal) => refusal.into(),
            other => other.trouble(doing).into(),
        }
    }
}

impl From<Refusal> for PgError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Whether a failure without a code is one of the connection.
fn lost(error: &tokio_postgres::Error) -> bool {
    use std::error::Error;
    let by_io = error.source().is_some_and(<dyn Error>::is::<std::io::Error>);
    error.is_closed() || by_io || error.to_string().starts_with("timeout")
}

fn class(error: &tokio_postgres::Error) -> Class {
    let Some(code) = error.code() else {
        return if lost(error) { Class::Disconnected } else { Class::Final };
    };
    if *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED {
        return Class::Again;
    }
    match code.code() {
        // No space is left, on the disk or in a quota.
        "53100" => Class::Full,
        // A lock, or a statement that took too long.
        "55P03" | "57014" => Class::Busy,
        // A primary that was demoted, and a server that has too many connections.
        "25006" | "53300" => Class::Disconnected,
        // A prepared statement that is gone or has another result: a pooler changed the connection, or a migration a table.
        "26000" | "0A000" => Class::Disconnected,
        // A session that was idle in a transaction for too long.
        "25P03" => Class::Disconnected,
        code if code.starts_with("08") || code.starts_with("57P") => Class::Disconnected,
        _ => Class::Final,
    }
}
