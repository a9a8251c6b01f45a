//! What is copied from and to: a data directory or a database; and the keys that both need.

use std::fmt;
use std::path::{Path, PathBuf};

use punctual_store::copy::{CopySource, CopyTarget};
use punctual_store::{KeyRing, Vault};
use punctual_store_postgres::{OpenError as DatabaseError, PostgresCopy, ServerUrl};
use punctual_store_sqlite::{Keys, OpenError as DirectoryError, SqliteTarget, StoppedStore};

use crate::exit::WrongUsage;
use crate::keys::{Given, Source};
use crate::store::{authorities, with_password};

/// Where a store is.
pub(super) enum Place {
    Directory(PathBuf),
    Database(Box<ServerUrl>),
}

/// Without a password.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(dir) => write!(f, "sqlite:{}", dir.display()),
            Self::Database(url) => write!(f, "{url}"),
        }
    }
}

/// The keys of the source, and where they come from.
pub(super) struct FoundKeys {
    ring: KeyRing,
    pub(super) source: Source,
}

/// Reads the keys; without another place they are in the data directory that is copied from or to.
pub(super) fn keys(places: [&Place; 2], key_file: Option<&Path>) -> anyhow::Result<FoundKeys> {
    let dir = places.into_iter().find_map(|place| match place {
        Place::Directory(dir) => Some(dir.as_path()),
        Place::Database(_) => None,
    });
    let dir = dir.unwrap_or(Path::new("punctual-data"));
    let source = Source::find(dir, key_file.unwrap_or(Path::new("")), Given::here())?;
    match source.read()? {
        Some(ring) => Ok(FoundKeys { ring, source }),
        None => Err(WrongUsage(format!(
            "the keys of the source are needed, and {source} is missing: name their file by --key-file, put a copy of it there, or \
             put the keys into the environment variable PUNCTUAL_KEYS"
        ))
        .into()),
    }
}

impl Place {
    /// Reads what an option says. It is not shown, since it may have a password in it.
    pub(super) fn read(option: &str, text: &str) -> Result<Self, WrongUsage> {
        let wrong = |why: String| WrongUsage(format!("option {option}: {why}"));
        if let Some(dir) = text.strip_prefix("sqlite:") {
            if dir.is_empty() {
                return Err(wrong("sqlite: must be followed by a directory".to_owned()));
            }
            return Ok(Self::Directory(dir.into()));
        }
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(wrong("must be sqlite:DIR or postgres://user@host/database".to_owned()));
        }
        let url = ServerUrl::parse(text).map_err(|error| wrong(error.to_string()))?;
        Ok(Self::Database(Box::new(with_password(url))))
    }

    /// Opens it to be copied from, if nobody runs on it and the keys are its own.
    pub(super) async fn open_source(&self, keys: &FoundKeys) -> anyhow::Result<Box<dyn CopySource>> {
        let vault = Vault::new(&keys.ring);
        match self {
            Self::Directory(dir) => {
                let store =
                    StoppedStore::open(dir, Some(vault)).map_err(|error| self.directory_error(error))?;
                match store.keys() {
                    Keys::Fit => Ok(Box::new(store)),
                    Keys::Lacking(key) => Err(WrongUsage(format!(
                        "{self} needs key {}, which is not in {}",
                        key.id, keys.source
                    ))
                    .into()),
                    Keys::Wrong | Keys::Missing { .. } => {
                        Err(WrongUsage(format!("{} has not the keys of {self}", keys.source)).into())
                    }
                }
            }
            Self::Database(url) => {
                let source = PostgresCopy::source(url, &authorities(url)?, &vault).await;
                Ok(Box::new(source.map_err(|error| self.database_error(error))?))
            }
        }
    }

    /// Opens it to be copied to.
    pub(super) async fn open_target(&self) -> anyhow::Result<Box<dyn CopyTarget>> {
        match self {
            Self::Directory(dir) => {
                Ok(Box::new(SqliteTarget::open(dir).map_err(|error| self.directory_error(error))?))
            }
            Self::Database(url) => {
                let target = PostgresCopy::target(url, &authorities(url)?).await;
                Ok(Box::new(target.map_err(|error| self.database_error(error))?))
            }
        }
    }

    /// What the caller can change is told as such.
    fn directory_error(&self, error: DirectoryError) -> anyhow::Error {
        match error {
            DirectoryError::Owned { .. } | DirectoryError::Used { .. } | DirectoryError::Missing { .. } => {
                WrongUsage(error.to_string()).into()
            }
            other => anyhow::Error::new(other).context(format!("could not use {self}")),
        }
    }

    fn database_error(&self, error: DatabaseError) -> anyhow::Error {
        match error {
            DatabaseError::Running(_)
            | DatabaseError::Copying
            | DatabaseError::Empty
            | DatabaseError::Older { .. }
            | DatabaseError::Newer { .. }
            | DatabaseError::Session(_)
            | DatabaseError::WrongKey(_) => WrongUsage(format!("{self}: {error}")).into(),
            other => anyhow::Error::new(other).context(format!("could not use {self}")),
        }
    }
}
