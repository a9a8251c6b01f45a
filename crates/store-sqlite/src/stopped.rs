//! The data of a server that is stopped, to be looked at. Nothing is written but the lock file, and
//! what an older version wrote is not migrated. Without the keys all but the definitions can be looked at.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use punctual_model::JobId;
use punctual_model::inspect::{Census, Evidence, Subject, Trace};
use punctual_store::instant::to_ticks;
use punctual_store::{
    CollectionEvidence, Extent, HeldClaim, HistoryCursor, Survey, SurveyAsk, Trouble, Unclaimed,
    UnclaimedAsk, Vault,
};
use rusqlite::Connection;

use crate::lock::DirectoryLock;
use crate::mishap::Mishap;
use crate::standing::hash;
use crate::{OpenError, connection, query, row, schema, survey};

/// The data of a server that is stopped. As long as this lives, no server starts on it.
pub struct StoppedStore {
    conn: Mutex<Connection>,
    vault: Option<Vault>,
    _lock: DirectoryLock,
}

impl StoppedStore {
    /// Opens the data of a directory, and owns it from now on. Without a vault definitions are not read.
    pub fn open(dir: &Path, vault: Option<Vault>) -> Result<Self, OpenError> {
        if !dir.join(connection::FILE).is_file() {
            return Err(OpenError::Missing { dir: dir.to_owned() });
        }
        let lock = DirectoryLock::take(dir)?;
        let conn = connection::reader(dir)?;
        let found: i64 = conn.query_row(query::schema_version, [], |row| row.get(0))?;
        let (found, known) = (usize::try_from(found).unwrap_or_default(), schema::VERSION);
        if found > known {
            return Err(OpenError::Newer { found, known });
        }
        if found < known {
            return Err(OpenError::Older { found, known });
        }
        Ok(Self { conn: Mutex::new(conn), vault, _lock: lock })
    }

    /// What is wrong with the file itself, a few at most. Reads all of it.
    pub fn file_damage(&self) -> Result<Vec<String>, Trouble> {
        self.ask("check the data file", |conn| {
            let told: Vec<String> = row::many(conn, query::quick_check, [], |row| Ok(row.get(0)?))?;
            Ok(told.into_iter().filter(|line| line != "ok").collect())
        })
    }

    fn conn(&self) -> MutexGuard<'_, Connection> {
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask<A>(
        &self,
        doing: &'static str,
        read: impl FnOnce(&Connection) -> Result<A, Mishap>,
    ) -> Result<A, Trouble> {
        read(&self.conn()).map_err(|mishap| mishap.trouble(doing))
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

    async fn traces(
        &self,
        job: JobId,
        after: Option<HistoryCursor>,
        limit: usize,
    ) -> Result<Vec<(HistoryCursor, Trace)>, Trouble> {
        self.ask("look at history", |conn| survey::traces(conn, job.0, after, limit))
    }

    async fn unclaimed(&self, ask: &UnclaimedAsk) -> Result<Vec<Unclaimed>, Trouble> {
        let found =
            self.ask("look at what is due", |conn| survey::due(conn, to_ticks(ask.until), ask.limit))?;
        let crowded: HashSet<i64> = ask.crowded.iter().map(|target| hash(target)).collect();
        Ok(found
            .into_iter()
            .map(|(due, target)| Unclaimed { due, crowded: crowded.contains(&target) })
            .collect())
    }

    /// Claims live in memory: a server that is stopped has none.
    async fn held(&self) -> Result<Vec<HeldClaim>, Trouble> {
        Ok(Vec::new())
    }
}
