//! Reads the data of a stopped server. Nothing in it is changed, and what an older version wrote is not
//! migrated. Without the keys everything but the definitions can be read.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use async_trait::async_trait;
use punctual_model::JobId;
use punctual_model::inspect::{Census, Evidence, RecordFacts, Subject};
use punctual_store::columns::target_hash;
use punctual_store::instant::to_ticks;
use punctual_store::{
    CollectionEvidence, Extent, HeldClaim, HistoryCursor, KeyUse, Survey, SurveyAsk, Trouble, Unclaimed,
    UnclaimedAsk, Vault,
};
use rusqlite::Connection;

use crate::copy::Catalogue;
use crate::directory::{self, KEY_CHECK};
use crate::error::SqliteError;
use crate::lock::DirectoryLock;
use crate::outage::{self, Outage};
use crate::{OpenError, access, connection, layout, query, row, schema, seals, survey};

/// The data of a stopped server. While this exists, no server can start on it.
pub struct StoppedStore {
    dir: PathBuf,
    conn: Mutex<Connection>,
    vault: Option<Vault>,
    keys: Keys,
    outage: Option<Outage>,
    pub(crate) catalogue: OnceLock<Catalogue>,
    // Dropped after the connection and before the lock.
    _temporary_files: TemporaryFiles,
    _lock: DirectoryLock,
}

/// The files that SQLite creates to read a data file. They are removed if they did not exist before.
struct TemporaryFiles(Vec<PathBuf>);

impl TemporaryFiles {
    fn new(dir: &Path) -> Self {
        let files = [layout::WAL, layout::SHM].map(|name| dir.join(name));
        let there = files.iter().any(|file| file.exists());
        Self(if there { Vec::new() } else { files.into() })
    }
}

impl Drop for TemporaryFiles {
    fn drop(&mut self) {
        for file in &self.0 {
            // They are empty: nothing was written, and no server can start yet.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Whether the keys of such data are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// One of them is missing that something is sealed with.
    Lacking(KeyUse),
    /// They are those that it was sealed with.
    Fit,
    /// They are others.
    Wrong,
    /// There are none.
    Missing {
        /// How many jobs have secrets that were sealed with them.
        sealed_count: u64,
    },
}

impl StoppedStore {
    /// Opens the data of a directory, and locks it. Without a vault, or with other keys, definitions are not
    /// read.
    pub fn open(dir: &Path, vault: Option<Vault>) -> Result<Self, OpenError> {
        Self::open_unexplained(dir, vault).map_err(|error| error.explained(dir))
    }

    fn open_unexplained(dir: &Path, vault: Option<Vault>) -> Result<Self, OpenError> {
        let missing = || OpenError::Missing { dir: dir.to_owned() };
        if !dir.is_dir() || !directory::has_database(dir)? {
            return Err(missing());
        }
        let lock = DirectoryLock::take_to_look(dir)?;
        let temporary_files = TemporaryFiles::new(dir);
        let conn = connection::reader(dir)?;
        let seal = directory::seal(&conn, dir)?.ok_or_else(missing)?;
        let found: i64 = conn.query_row(query::schema_version, [], |row| row.get(0))?;
        let (found, known) = (usize::try_from(found).unwrap_or_default(), schema::VERSION);
        if found > known {
            return Err(OpenError::Newer { found, known });
        }
        if found < known {
            return Err(OpenError::Older { found, known });
        }
        let missing = vault.as_ref().map(|vault| seals::missing(&conn, vault)).transpose();
        let missing = missing.map_err(OpenError::of)?.unwrap_or_default();
        let different = vault.as_ref().map(|vault| seals::different(&conn, vault)).transpose();
        let different = different.map_err(OpenError::of)?.flatten().is_some();
        let keys = match (&vault, missing.first()) {
            (Some(_), Some(lacking)) => Keys::Lacking(*lacking),
            (Some(vault), None) if !different && vault.open(KEY_CHECK, &seal).is_ok() => Keys::Fit,
            (Some(_), None) => Keys::Wrong,
            (None, _) => Keys::Missing { sealed_count: directory::sealed_count(&conn)? },
        };
        let vault = vault.filter(|_| keys == Keys::Fit);
        let outage = outage::try_space(dir).err();
        let conn = Mutex::new(conn);
        Ok(Self {
            dir: dir.to_owned(),
            conn,
            vault,
            keys,
            outage,
            catalogue: OnceLock::new(),
            _temporary_files: temporary_files,
            _lock: lock,
        })
    }

    /// Whether the keys are those that the data was sealed with.
    pub fn keys(&self) -> Keys {
        self.keys
    }

    /// What is wrong with the file itself, at most a few problems. Reads all of it.
    pub fn file_damage(&self) -> Result<Vec<String>, Trouble> {
        self.ask("check the data file", |conn| {
            let told: Vec<String> = row::many(conn, query::quick_check, [], |row| Ok(row.get(0)?))?;
            Ok(told.into_iter().filter(|line| line != "ok").collect())
        })
    }

    fn conn(&self) -> MutexGuard<'_, Connection> {
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ask<A>(
        &self,
        doing: &'static str,
        read: impl FnOnce(&Connection) -> Result<A, SqliteError>,
    ) -> Result<A, Trouble> {
        read(&self.conn()).map_err(|failure| failure.trouble(doing))
    }
}

impl std::fmt::Debug for StoppedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoppedStore")
    }
}

#[async_trait]
impl Survey for StoppedStore {
    async fn extent(&self) -> Result<Extent, Trouble> {
        self.ask("read the extent of the store", survey::extent)
    }

    async fn census(&self, faulted_limit: usize) -> Result<Census, Trouble> {
        self.ask("count jobs", |conn| survey::census(conn, faulted_limit))
    }

    async fn survey(&self, ask: &SurveyAsk) -> Result<Vec<Evidence>, Trouble> {
        self.ask("look at jobs", |conn| survey::page(conn, ask, self.vault.as_ref()))
    }

    async fn survey_collections(&self, after: i64, limit: usize) -> Result<Vec<CollectionEvidence>, Trouble> {
        self.ask("look at collections", |conn| survey::collections(conn, after, limit))
    }

    async fn damage(&self, subject: &Subject) -> Result<Option<String>, Trouble> {
        self.ask("look at a row", |conn| survey::damage_of(conn, subject))
    }

    async fn record_facts(
        &self,
        job: JobId,
        after: Option<HistoryCursor>,
        limit: usize,
    ) -> Result<Vec<(HistoryCursor, RecordFacts)>, Trouble> {
        self.ask("look at history", |conn| survey::record_facts(conn, job.0, after, limit))
    }

    async fn unclaimed(&self, ask: &UnclaimedAsk) -> Result<Vec<Unclaimed>, Trouble> {
        let found =
            self.ask("look at what is due", |conn| survey::due(conn, to_ticks(ask.until), ask.limit))?;
        let full_targets: HashSet<i64> = ask.full_targets.iter().map(|target| target_hash(target)).collect();
        Ok(found
            .into_iter()
            .map(|(due, target)| Unclaimed { due, target_full: full_targets.contains(&target) })
            .collect())
    }

    /// Claims are in memory: a stopped server has none.
    async fn held(&self) -> Result<Vec<HeldClaim>, Trouble> {
        Ok(Vec::new())
    }

    fn outage(&self) -> Option<Trouble> {
        self.outage.as_ref().map(|outage| outage.trouble("write"))
    }

    async fn problems(&self) -> Result<Vec<String>, Trouble> {
        access::strangers(&self.dir)
            .map_err(|source| Trouble::Failed { doing: "look at the data directory", source: source.into() })
    }
}
