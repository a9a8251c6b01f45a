//! Connections and their settings.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::Synchronous;
use crate::layout::{COPY, DATABASE as FILE};

/// The page cache of the writer stays valid between transactions, since nobody else writes; this bounds its
/// memory.
const WRITER_CACHE_KIB: i64 = 16 * 1024;
/// A reader drops its cached pages after every write, so a larger cache would not help.
const READER_CACHE_KIB: i64 = 2 * 1024;
/// Connections wait only for checkpoints and for the recovery at the start.
pub(crate) const BUSY: Duration = Duration::from_secs(2);
/// Rows are copied in the order of one index, and inserted into all of them.
const COPIER_CACHE_KIB: i64 = 128 * 1024;
/// The size to which the WAL file is cut when it is restarted.
const WAL_BYTES_MAX: i64 = 64 * 1024 * 1024;
/// The size of the cache of prepared statements; there are fewer.
const STATEMENTS: usize = 96;

/// The connection that writes. The file must exist: SQLite would create it readable by others.
pub(crate) fn writer(dir: &Path, synchronous: Synchronous) -> rusqlite::Result<Connection> {
    let conn = Connection::open_with_flags(
        dir.join(FILE),
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.busy_timeout(BUSY)?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    set_up(&conn, synchronous, WRITER_CACHE_KIB)?;
    conn.pragma_update(None, "journal_size_limit", WAL_BYTES_MAX)?;
    // What is deleted or replaced is overwritten in the file: secrets that were sealed with a key that is gone must be
    // gone, too.
    conn.pragma_update(None, "secure_delete", true)?;
    // The checkpoint thread does it.
    conn.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(conn)
}

/// The connection that checkpoints.
pub(crate) fn checkpointer(dir: &Path, synchronous: Synchronous) -> rusqlite::Result<Connection> {
    let conn = Connection::open_with_flags(
        dir.join(FILE),
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.busy_timeout(BUSY)?;
    set_up(&conn, synchronous, READER_CACHE_KIB)?;
    Ok(conn)
}

/// The connection that writes a new data file until it is complete. What the machine loses in a crash is copied again.
pub(crate) fn copier(dir: &Path) -> rusqlite::Result<Connection> {
    let conn = Connection::open_with_flags(
        dir.join(COPY),
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.busy_timeout(BUSY)?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    set_up(&conn, Synchronous::Full, COPIER_CACHE_KIB)?;
    conn.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(conn)
}

/// A connection that reads.
pub(crate) fn reader(dir: &Path) -> rusqlite::Result<Connection> {
    let conn = Connection::open_with_flags(
        dir.join(FILE),
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.busy_timeout(BUSY)?;
    set_up(&conn, Synchronous::Full, READER_CACHE_KIB)?;
    conn.pragma_update(None, "query_only", true)?;
    Ok(conn)
}

/// Sets whether a connection waits for the disk.
pub(crate) fn set_synchronous(conn: &Connection, synchronous: Synchronous) -> rusqlite::Result<()> {
    let synchronous = match synchronous {
        Synchronous::Full => "FULL",
        Synchronous::Off => "OFF",
    };
    conn.pragma_update(None, "synchronous", synchronous)
}

fn set_up(conn: &Connection, synchronous: Synchronous, cache_kib: i64) -> rusqlite::Result<()> {
    set_synchronous(conn, synchronous)?;
    conn.pragma_update(None, "cache_size", -cache_kib)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    // Otherwise the planner looks at bound values, and prepares a statement again for every binding.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(())
}
