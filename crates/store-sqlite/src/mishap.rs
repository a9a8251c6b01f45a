//! What goes wrong inside, and what callers are told about it.

use punctual_store::Trouble;
use punctual_store::codec::CodecError;
use rusqlite::ErrorCode;
use thiserror::Error;

/// A failure while a statement ran or a row was read.
#[derive(Debug, Error)]
pub(crate) enum Mishap {
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    #[error("could not read {what}: {detail}")]
    Unreadable { what: String, detail: String },
    #[error("the work on the request stopped unexpectedly")]
    Panicked,
}

impl Mishap {
    /// A row that can't be read. The texts of a codec's errors never show content.
    pub(crate) fn unreadable(what: impl Into<String>, error: &CodecError) -> Self {
        let detail = match error {
            CodecError::Sealed(source) => format!("{error}: {source}"),
            CodecError::UnknownVersion
            | CodecError::Damaged { .. }
            | CodecError::Invalid { .. }
            | CodecError::Mismatch => error.to_string(),
        };
        Self::Unreadable { what: what.into(), detail }
    }

    /// A column whose value is none that can be there.
    pub(crate) fn invalid(what: &'static str) -> Self {
        Self::Unreadable { what: what.to_owned(), detail: "it is not a value that is written".to_owned() }
    }

    /// What a caller is told. One mishap may be told to many: all that were in its group.
    pub(crate) fn trouble(&self, doing: &'static str) -> Trouble {
        match self {
            Self::Unreadable { what, detail } => {
                Trouble::Corrupt { what: what.clone(), detail: detail.clone() }
            }
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
