//! Opens the store of a data directory: migrates it, checks the keys.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use punctual_model::RandomSource;
use punctual_model::audit::AuditEntry;
use punctual_store::{AuditKey, KeyUse, Vault, VaultError};
use rusqlite::{Connection, OptionalExtension, params};
use thiserror::Error;

use crate::alarm::Alarm;
use crate::directory::{DataDirectory, KEY_CHECK, sealed_count};
use crate::error::SqliteError;
use crate::lock::DirectoryLock;
use crate::meter::Meter;
use crate::outage::Outage;
use crate::seals::KEY_CHECK_TEXT;
use crate::{access, audit, connection, query, schema, seals};

/// How a store is opened.
pub struct Options {
    /// The data directory, created if necessary; everything is in it.
    pub dir: PathBuf,
    /// Seals and opens the secrets.
    pub vault: Arc<Vault>,
    /// Makes nonces and the first fence; must be unpredictable.
    pub random: Arc<dyn RandomSource>,
    /// Whether an answer waits for the disk.
    pub synchronous: Synchronous,
    /// The number of reader threads, at least two; each has up to 2 MiB of cache.
    pub reader_count: usize,
    /// The keys are new and replace others. Refused if something is sealed with those.
    pub new_keys: bool,
    /// What the audit log says if a key seals from now on that was not known.
    pub note: Option<AuditEntry>,
    /// Who is told when one of the store's threads panics.
    pub alarm: Alarm,
    /// Who is told what each COMMIT has cost.
    pub meter: Meter,
}

impl Options {
    /// The default options.
    pub fn new(dir: impl Into<PathBuf>, vault: Arc<Vault>, random: Arc<dyn RandomSource>) -> Self {
        let synchronous = Synchronous::Full;
        let (alarm, meter) = (Alarm::default(), Meter::default());
        let (reader_count, new_keys, note) = (4, false, None);
        Self { dir: dir.into(), vault, random, synchronous, reader_count, new_keys, note, alarm, meter }
    }
}

/// Whether an answer waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// An acknowledged write survives a crash of the machine.
    Full,
    /// It survives a crash of the process only. For tests and simulations.
    Off,
}

/// Why a data directory could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// It can't be created, read or written.
    #[error("could not use the data directory {}", .dir.display())]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Another process has it.
    #[error("the data directory {} is in use by {owner}; stop that one first, or choose another directory", .dir.display())]
    Owned {
        /// The directory.
        dir: PathBuf,
        /// The owner, with its process id if that is known.
        owner: String,
    },
    /// It, or a file in it, belongs to another user.
    #[error(
        "{} belongs to user {owner}, and this process runs as user {process}: run it as user {owner}, give the \
         whole directory to user {process} with chown --recursive, or choose a directory that does not exist yet",
        .path.display()
    )]
    Foreign {
        /// The directory or file.
        path: PathBuf,
        /// The user that has it.
        owner: u32,
        /// The user of this process.
        process: u32,
    },
    /// Others can use it, and that could not be changed.
    #[error("others can use {}, and {why}: chmod {mode:o} {}, or choose another directory", .path.display(), .path.display())]
    Open {
        /// The directory or file.
        path: PathBuf,
        /// The mode that it should have.
        mode: u32,
        /// Why it was not changed.
        why: String,
    },
    /// The data file was lost, but files that belong to it are there.
    #[error(
        "{}/punctual.db {what}, though {beside} is there: restore punctual.db from a backup, or move {beside} \
         away to begin with no jobs",
        .dir.display()
    )]
    Emptied {
        /// The directory.
        dir: PathBuf,
        /// What is wrong with the data file.
        what: &'static str,
        /// The file that is there.
        beside: &'static str,
    },
    /// Nothing can be written in it.
    #[error("could not write in the data directory {}: {why}", .dir.display())]
    Unwritable {
        /// The directory.
        dir: PathBuf,
        /// Why, and what to do.
        why: String,
    },
    /// It has data already.
    #[error("there is data in {} already ({name}): name a directory without", .dir.display())]
    Used {
        /// The directory.
        dir: PathBuf,
        /// The file that is there.
        name: &'static str,
    },
    /// It has no data.
    #[error("there is no data in {}", .dir.display())]
    Missing {
        /// The directory.
        dir: PathBuf,
    },
    /// It was written by an earlier version, and must not be migrated now.
    #[error(
        "the data file has schema version {found}, and this program works with version {known}: start the server once, which brings it up to date"
    )]
    Older {
        /// The file's version.
        found: usize,
        /// The program's version.
        known: usize,
    },
    /// It was written by a later version.
    #[error(
        "the data file has schema version {found}, and this program knows versions up to {known}: use a newer program, or a backup"
    )]
    Newer {
        /// The file's version.
        found: usize,
        /// The program's version.
        known: usize,
    },
    /// The keys are not those that the secrets were sealed with.
    #[error("the keys do not belong to this data directory: put the right ones in their place")]
    WrongKey(#[source] VaultError),
    /// A key is missing that something is sealed with.
    #[error("{}: put it back, from a backup if need be", missing_keys(.0))]
    MissingKeys(Vec<KeyUse>),
    /// A key is another one than the one that had its number.
    #[error(
        "key {id} is another one than the one that sealed with this number: put the right one in its place"
    )]
    DifferentKey {
        /// Its number.
        id: u32,
    },
    /// The data file can't be used.
    #[error("could not open the data file")]
    Sqlite(#[from] rusqlite::Error),
    /// A thread could not be started.
    #[error("could not start a thread of the store")]
    Thread(#[source] io::Error),
}

/// An opened data directory.
pub(crate) struct Opened {
    pub(crate) lock: DirectoryLock,
    pub(crate) conn: Connection,
    pub(crate) last: Last,
    pub(crate) audit_key: AuditKey,
}

/// The highest ids so far, and the number of jobs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Last {
    pub(crate) job: i64,
    pub(crate) sequence: i64,
    pub(crate) revision: i64,
    pub(crate) job_count: i64,
}

/// What is missing, in words.
fn missing_keys(missing: &[KeyUse]) -> String {
    let told = |key: &KeyUse| {
        let needed = key.needed_by().unwrap_or_else(|| "something".to_owned());
        format!("key {} is missing, and sealed with it: {needed}", key.id)
    };
    missing.iter().map(told).collect::<Vec<_>>().join("; ")
}

impl OpenError {
    /// A failure while rows of keys were read.
    pub(crate) fn of(failure: SqliteError) -> Self {
        match failure {
            SqliteError::Sql(error) => Self::Sqlite(error),
            other => Self::Sqlite(rusqlite::Error::ToSqlConversionFailure(other.into())),
        }
    }

    /// The same error, or that nothing can be written if that is the cause; SQLite reports that in many ways.
    pub(crate) fn explained(self, dir: &Path) -> Self {
        let outage = match &self {
            Self::Sqlite(error) => Outage::of_sqlite(error, dir),
            Self::Directory { source, .. } => Outage::of_lasting_io(source),
            _ => None,
        };
        outage.map_or(self, |outage| Self::unwritable(dir, &outage))
    }

    pub(crate) fn unwritable(dir: &Path, outage: &Outage) -> Self {
        Self::Unwritable { dir: dir.to_owned(), why: format!("{outage}; {}", outage.advice()) }
    }
}

pub(crate) fn open(directory: DataDirectory, options: &Options) -> Result<Opened, OpenError> {
    let dir = directory.dir.clone();
    open_unexplained(directory, options).map_err(|error| error.explained(&dir))
}

fn open_unexplained(directory: DataDirectory, options: &Options) -> Result<Opened, OpenError> {
    let DataDirectory { dir, conn, lock, .. } = directory;
    let mut conn = match conn {
        Some(conn) => conn,
        None => {
            access::make_database(&dir)
                .map_err(|source| OpenError::Directory { dir: dir.clone(), source })?;
            connection::writer(&dir, options.synchronous)?
        }
    };
    connection::set_synchronous(&conn, options.synchronous)?;
    schema::migrate(&mut conn)?;
    let tx = conn.transaction()?;
    let (last, first) = check_key(&tx, options)?;
    let audit_key = audit::open_key(&tx, options)?;
    seals::adopt(&tx, &options.vault, &*options.random, options.note.as_ref()).map_err(OpenError::of)?;
    tx.commit()?;
    if first {
        // Into the data file itself, before the key file gets its name; see the module `directory`.
        conn.pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()))?;
    }
    Ok(Opened { lock, conn, last, audit_key })
}

/// Reads the counters and checks that the vault opens what this file was sealed with. Returns also whether this is the
/// first start on it.
fn check_key(conn: &Connection, options: &Options) -> Result<(Last, bool), OpenError> {
    let vault = &*options.vault;
    let seal = || vault.seal(KEY_CHECK, KEY_CHECK_TEXT, &*options.random);
    let counters = conn
        .query_row(query::counters, [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get::<_, Vec<u8>>(2)?, row.get(3)?))
        })
        .optional()?;
    let Some((sequence, revision, check, job_count)) = counters else {
        conn.execute(query::insert_counters, params![seal()])?;
        // Nothing counts that a start has left which did not complete.
        conn.execute(query::delete_keys, [])?;
        return Ok((Last { job: 0, sequence: 0, revision: 0, job_count: 0 }, true));
    };
    let opened = vault.open(KEY_CHECK, &check);
    if opened.is_err() && options.new_keys && sealed_count(conn)? == 0 {
        // They can't be opened any more, and are made anew when they are needed.
        conn.execute(query::delete_server_secrets, [])?;
        conn.execute(query::delete_keys, [])?;
        conn.execute(query::set_key_check, params![seal()])?;
    } else {
        let missing = seals::missing(conn, vault).map_err(OpenError::of)?;
        if !missing.is_empty() {
            return Err(OpenError::MissingKeys(missing));
        }
        opened.map_err(OpenError::WrongKey)?;
        if let Some(id) = seals::different(conn, vault).map_err(OpenError::of)? {
            return Err(OpenError::DifferentKey { id });
        }
    }
    let job = conn.query_row(query::last_job, [], |row| row.get(0)).optional()?.unwrap_or(0);
    Ok((Last { job, sequence, revision, job_count }, false))
}
