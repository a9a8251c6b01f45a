//! A new data file that is copied to. It has a name of its own until it is complete, so that no server takes it for its data.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use punctual_store::Trouble;
use punctual_store::copy::{
    Cell, CopyRow, CopySource, CopyTarget, LastNumbers, PlannedTable, REVISIONS, Shape, TargetState,
};
use rusqlite::{Connection, params, params_from_iter};

use super::Catalogue;
use crate::error::SqliteError;
use crate::lock::DirectoryLock;
use crate::{OpenError, access, connection, layout, query, row, schema};

/// A data directory that is copied to. While this exists, no server can start on it.
pub struct SqliteTarget {
    dir: PathBuf,
    catalogue: Catalogue,
    /// None when the copy is complete.
    conn: Mutex<Option<Connection>>,
    _lock: DirectoryLock,
}

/// Where SQLite keeps the fingerprint of the source: a number in the header of the file that nobody else uses.
const FINGERPRINT: &str = "user_version";

impl SqliteTarget {
    /// Makes the directory if necessary, and locks it. Refused if there is data in it; keys may be there.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        Self::open_unexplained(dir).map_err(|error| error.explained(dir))
    }

    fn open_unexplained(dir: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Directory { dir: dir.to_owned(), source };
        access::make(dir).map_err(failed)?;
        access::check(dir)?;
        let lock = DirectoryLock::take(dir)?;
        if let Some(name) = [layout::DATABASE, layout::WAL].iter().find(|name| dir.join(name).exists()) {
            return Err(OpenError::Used { dir: dir.to_owned(), name });
        }
        access::make_file(dir, layout::COPY).map_err(failed)?;
        let mut conn = connection::copier(dir)?;
        schema::migrate(&mut conn)?;
        let catalogue = Catalogue::read(&conn).map_err(OpenError::of)?;
        Ok(Self { dir: dir.to_owned(), catalogue, conn: Mutex::new(Some(conn)), _lock: lock })
    }

    fn conn(&self) -> MutexGuard<'_, Option<Connection>> {
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask<A>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&mut Connection) -> Result<A, SqliteError>,
    ) -> Result<A, Trouble> {
        let mut conn = self.conn();
        let conn = conn.as_mut().ok_or(Trouble::Closed { doing })?;
        work(conn).map_err(|failure| failure.trouble(doing))
    }

    /// Gives the complete file its name.
    fn rename(&self) -> std::io::Result<()> {
        let (new, path) = (self.dir.join(layout::COPY), self.dir.join(layout::DATABASE));
        File::open(&new)?.sync_all()?;
        fs::rename(new, path)?;
        File::open(&self.dir)?.sync_all()
    }
}

impl std::fmt::Debug for SqliteTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SqliteTarget({})", self.dir.display())
    }
}

#[async_trait]
impl CopySource for SqliteTarget {
    async fn shape(&self) -> Result<Shape, Trouble> {
        Ok(self.catalogue.shape())
    }

    async fn count(&self, table: &str) -> Result<u64, Trouble> {
        self.ask("count rows", |conn| super::count(conn, table))
    }

    async fn page(
        &self,
        table: &PlannedTable,
        after: Option<&[Cell]>,
        limit: usize,
    ) -> Result<Vec<CopyRow>, Trouble> {
        self.ask("read rows", |conn| super::page(conn, &self.catalogue, table, after, limit))
    }

    async fn last_numbers(&self) -> Result<LastNumbers, Trouble> {
        self.ask("read the last numbers", |conn| super::last_numbers(conn))
    }

    /// The lock on the directory sees to that.
    async fn still_alone(&self) -> Result<(), Trouble> {
        Ok(())
    }
}

#[async_trait]
impl CopyTarget for SqliteTarget {
    async fn state(&self) -> Result<TargetState, Trouble> {
        let found = self.ask("look for an earlier copy", |conn| {
            Ok(conn.pragma_query_value(None, FINGERPRINT, |row| row.get::<_, u32>(0))?)
        })?;
        Ok(if found == 0 { TargetState::Fresh } else { TargetState::Begun(found) })
    }

    async fn begin(&self, fingerprint: u32) -> Result<(), Trouble> {
        self.ask("begin a copy", |conn| Ok(conn.pragma_update(None, FINGERPRINT, fingerprint)?))
    }

    async fn last_key(&self, table: &PlannedTable) -> Result<Option<Vec<Cell>>, Trouble> {
        self.ask("read the last row", |conn| super::last_key(conn, table))
    }

    async fn append(&self, table: &PlannedTable, rows: Vec<CopyRow>) -> Result<(), Trouble> {
        let names: Vec<&str> = table.columns.iter().map(String::as_str).collect();
        let names: Vec<&str> = names.into_iter().chain(table.fill.iter().map(|(name, _)| *name)).collect();
        let sql = query::copy_insert
            .replace("{table}", &super::quoted([table.name])[0])
            .replace("{columns}", &super::quoted(names.iter().copied()).join(", "))
            .replace("{values}", &super::places(names.len()));
        self.ask("write rows", |conn| {
            let transaction = conn.transaction()?;
            {
                let mut insert = transaction.prepare_cached(&sql)?;
                for row in &rows {
                    let cells = row.iter().chain(table.fill.iter().map(|(_, cell)| cell));
                    let values = names.iter().zip(cells);
                    let values = values.map(|(name, cell)| self.catalogue.value(table.name, name, cell));
                    insert.execute(params_from_iter(values.collect::<Result<Vec<_>, _>>()?))?;
                }
            }
            Ok(transaction.commit()?)
        })
    }

    async fn set_last_numbers(&self, last: &LastNumbers) -> Result<(), Trouble> {
        self.ask("set the last numbers", |conn| {
            let transaction = conn.transaction()?;
            let given =
                row::many(&transaction, query::copy_sequences, [], |row| Ok(row.get::<_, String>(0)?))?;
            for name in given {
                let Some(number) = last.get(&name) else { continue };
                if transaction.execute(query::copy_set_sequence, params![name, number])? == 0 {
                    transaction.execute(query::copy_insert_sequence, params![name, number])?;
                }
            }
            let at_least = |name: &str, sql: &str| {
                let highest = row::number(&transaction, sql, [])?.unwrap_or(0);
                Ok::<_, SqliteError>(last.get(name).copied().unwrap_or(0).max(highest))
            };
            let sequence = at_least("history", query::copy_last_record)?;
            let revision = at_least(REVISIONS, query::copy_last_revision)?;
            let job_count = super::count(&transaction, "jobs")?;
            let job_count = i64::try_from(job_count).unwrap_or(i64::MAX);
            transaction.execute(query::save_counters, params![sequence, revision, job_count])?;
            Ok(transaction.commit()?)
        })
    }

    async fn complete(&self) -> Result<(), Trouble> {
        let doing = "complete the copy";
        let mut conn = self.conn();
        let open = conn.take().ok_or(Trouble::Closed { doing })?;
        let sql = |error: rusqlite::Error| SqliteError::Sql(error).trouble(doing);
        // Everything is in the file itself, and nothing in a write-ahead log of another name.
        open.pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(())).map_err(sql)?;
        open.close().map_err(|(_, error)| sql(error))?;
        self.rename().map_err(|source| Trouble::Failed { doing, source: source.into() })
    }
}
