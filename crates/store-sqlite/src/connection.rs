//! Connections and their settings.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::Synchronous;
use crate::layout::DATABASE as FILE;

/// Pages of the writer stay valid between transactions, since nobody else writes: this is what bounds
/// its memory.
const WRITER_CACHE_KIB: i64 = 16 * 1024;
/// A reader drops its pages whenever something was written, so that more would not help.
const READER_CACHE_KIB: i64 = 2 * 1024;
/// Only checkpoints and the recovery at the start are ever waited for.
pub(crate) const BUSY: Duration = Duration::from_secs(2);
/// After a restart of the WAL its file is cut to this.
const WAL_BYTES_MAX: i64 = 64 * 1024 * 1024;
/// Each has its statements prepared once; there are fewer than this.
const STATEMENTS: usize = 80;

/// The connection that writes. The file is there: SQLite would make it readable by others.
pub(crate) fn writer(dir: &Path, synchronous: Synchronous) -> rusqlite::Result<Connection> {
    let conn = Connection::open_with_flags(
        dir.join(FILE),
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.busy_timeout(BUSY)?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    set_up(&conn, synchronous, WRITER_CACHE_KIB)?;
    conn.pragma_update(None, "journal_size_limit", WAL_BYTES_MAX)?;
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

/// Says whether a connection waits for the disk.
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
    // Otherwise the planner looks at bound values, and every binding has the statement prepared anew.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(())
}
