//! A data directory that this process owns, before its store is opened.
//!
//! Its files must belong together: a data file that was removed or emptied is not replaced by a new one, and
//! missing keys are not made again if something was sealed with them. A first start makes the files in an order
//! by which an interrupted start can be told from lost data:
//!
//! 1. the directory and the lock file;
//! 2. the keys, under a temporary name (`keys.new`), and an empty data file, which gets its schema;
//! 3. the row of counters with a text that is sealed with the keys, in the data file itself and not only in its
//!    write-ahead log;
//! 4. the keys get their final name.
//!
//! So if there is a file `keys`, or a write-ahead log with content, there is a data file, and if there is
//! `keys` the data file has that row.

use std::fs;
use std::path::{Path, PathBuf};

use punctual_store::{SealContext, Vault};
use rusqlite::{Connection, OptionalExtension};

use crate::lock::DirectoryLock;
use crate::{OpenError, Synchronous, access, connection, layout, outage, query};

/// The seal context of the row of counters.
pub(crate) const KEY_CHECK: SealContext<'_> = SealContext { kind: "key check", row: 1 };

/// A data directory that this process owns, and nobody else until it is dropped.
pub struct DataDirectory {
    pub(crate) dir: PathBuf,
    // Closed before the directory is released.
    pub(crate) conn: Option<Connection>,
    pub(crate) lock: DirectoryLock,
    seal: Option<Vec<u8>>,
}

impl DataDirectory {
    /// Creates the directory if necessary, locks it, and refuses it if it is not as a server has left it.
    pub fn own(dir: &Path) -> Result<Self, OpenError> {
        Self::own_unexplained(dir).map_err(|error| error.explained(dir))
    }

    fn own_unexplained(dir: &Path) -> Result<Self, OpenError> {
        access::make(dir).map_err(|source| OpenError::Directory { dir: dir.to_owned(), source })?;
        access::check(dir)?;
        let lock = DirectoryLock::take(dir)?;
        if !has_database(dir)? {
            outage::try_space(dir).map_err(|outage| OpenError::unwritable(dir, &outage))?;
            return Ok(Self { dir: dir.to_owned(), conn: None, lock, seal: None });
        }
        let conn = connection::writer(dir, Synchronous::Full)?;
        let seal = seal(&conn, dir)?;
        Ok(Self { dir: dir.to_owned(), conn: Some(conn), lock, seal })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Whether no start on it has completed yet.
    pub fn is_new(&self) -> bool {
        self.seal.is_none()
    }

    /// Whether these are the keys that it was sealed with; true for all keys if it was not sealed yet.
    pub fn fits(&self, vault: &Vault) -> bool {
        self.seal.as_ref().is_none_or(|seal| vault.open(KEY_CHECK, seal).is_ok())
    }

    /// How many jobs have sealed secrets.
    pub fn sealed_count(&self) -> Result<u64, OpenError> {
        match &self.conn {
            Some(conn) if self.seal.is_some() => sealed_count(conn),
            _ => Ok(0),
        }
    }
}

impl std::fmt::Debug for DataDirectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DataDirectory({})", self.dir.display())
    }
}

/// Whether there is a data file with content. Refused if there is none, but files that belong to one.
pub(crate) fn has_database(dir: &Path) -> Result<bool, OpenError> {
    let size = |name: &str| fs::metadata(dir.join(name)).map(|found| found.len()).ok();
    let what = match size(layout::DATABASE) {
        None => "is missing",
        Some(0) => "is empty",
        Some(_) => return Ok(true),
    };
    let beside = if size(layout::WAL) > Some(0) {
        layout::WAL
    } else if size(layout::KEYS).is_some() {
        layout::KEYS
    } else {
        return Ok(false);
    };
    Err(OpenError::Emptied { dir: dir.to_owned(), what, beside })
}

/// The text that was sealed at the end of the first start; none if that did not complete. Refused if there is a
/// key file, which gets its name only after that.
pub(crate) fn seal(conn: &Connection, dir: &Path) -> Result<Option<Vec<u8>>, OpenError> {
    let there: i64 = conn.query_row(query::has_counters, [], |row| row.get(0))?;
    let seal = match there {
        0 => None,
        _ => conn.query_row(query::key_check, [], |row| row.get(0)).optional()?,
    };
    if seal.is_none() && dir.join(layout::KEYS).exists() {
        let (what, beside) = ("has no data", layout::KEYS);
        return Err(OpenError::Emptied { dir: dir.to_owned(), what, beside });
    }
    Ok(seal)
}

pub(crate) fn sealed_count(conn: &Connection) -> Result<u64, OpenError> {
    let count: i64 = conn.query_row(query::sealed_count, [], |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or_default())
}
