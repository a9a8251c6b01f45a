//! Failures inside the store, and the errors that callers get.

use punctual_store::Trouble;
use punctual_store::codec::CodecError;
use rusqlite::ErrorCode;
use thiserror::Error;

use crate::outage::Outage;

/// A failure while a statement ran or a row was read.
#[derive(Debug, Error)]
pub(crate) enum SqliteError {
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    #[error("could not read {what}: {detail}")]
    Unreadable { what: String, detail: String },
    #[error(transparent)]
    Outage(#[from] Outage),
    #[error("the work on the request stopped unexpectedly")]
    Panicked,
}

impl SqliteError {
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
            Self::Sql(error) if error.sqlite_error_code().is_some() => Err(Self::Sql(error)),
            Self::Outage(_) | Self::Panicked => Err(self),
            Self::Sql(error) => Ok(error.to_string()),
            Self::Unreadable { what, detail } => Ok(format!("{what}: {detail}")),
        }
    }

    /// The same, naming the row if it is about one.
    pub(crate) fn of(self, what: impl FnOnce() -> String) -> Self {
        match self.into_damage() {
            Ok(detail) => Self::Unreadable { what: what(), detail },
            Err(other) => other,
        }
    }

    /// The error for a caller. One failure may be reported to many: all callers of its group.
    pub(crate) fn trouble(&self, doing: &'static str) -> Trouble {
        match self {
            Self::Unreadable { what, detail } => {
                Trouble::Corrupt { what: what.clone(), detail: detail.clone() }
            }
            Self::Outage(outage) => outage.trouble(doing),
            Self::Panicked => Trouble::Failed { doing, source: self.to_string().into() },
            Self::Sql(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => Trouble::Full { doing },
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Trouble::Busy { doing },
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                    Trouble::Corrupt { what: "the data file".to_owned(), detail: error.to_string() }
                }
                _ => Trouble::Failed { doing, source: error.to_string().into() },
            },
        }
    }
}
