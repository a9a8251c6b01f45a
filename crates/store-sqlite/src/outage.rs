//! Outages: nothing can be written, because the disk is full, read-only or broken.
//!
//! A write that fails this way begins an outage; that is logged once, however many writes fail meanwhile.
//! Writes are still tried, since a small one may fit where a large one did not. The checkpoint thread tries
//! every second whether there is space again and a transaction succeeds; then the outage is over.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use punctual_store::Trouble;
use rusqlite::{Connection, ErrorCode, ffi};
use thiserror::Error;

use crate::layout;
use crate::query;

/// An outage ends when this much can be written, so that it does not end for a few bytes and begin again.
const SPACE_BYTES: usize = 1024 * 1024;

/// The number of bytes written at once.
const PIECE_BYTES: usize = 64 * 1024;

/// Why nothing can be written.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum Outage {
    /// No space, a quota, or a limit on the size of files, with the text of the system.
    #[error("no space is left on the disk ({0})")]
    Full(String),
    #[error("the file system is read-only")]
    ReadOnly,
    #[error("the disk fails ({0})")]
    Failing(String),
}

impl Outage {
    /// What an error of the system means for all writes.
    fn of_io(error: &io::Error) -> Self {
        Self::of_lasting_io(error).unwrap_or_else(|| Self::Failing(error.to_string()))
    }

    /// The same; none if the error may concern one file only.
    pub(crate) fn of_lasting_io(error: &io::Error) -> Option<Self> {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                Some(Self::Full(error.to_string()))
            }
            ErrorKind::ReadOnlyFilesystem => Some(Self::ReadOnly),
            _ => None,
        }
    }

    /// What an error of SQLite means for all writes; none if it concerns one statement. SQLite hides the error
    /// number of the system, so a write to the directory is tried.
    pub(crate) fn of_sqlite(error: &rusqlite::Error, dir: &Path) -> Option<Self> {
        match error.sqlite_error_code()? {
            ErrorCode::DiskFull => Some(Self::Full(error.to_string())),
            ErrorCode::SystemIoFailure => {
                let tried = try_space(dir).err();
                tried.or_else(|| is_write(error).then(|| Self::Failing(error.to_string())))
            }
            ErrorCode::ReadOnly | ErrorCode::CannotOpen => try_space(dir).err(),
            _ => None,
        }
    }

    /// What an operator can do about it.
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::Full(_) => "free some space and start again",
            Self::ReadOnly => "mount it for writing and start again",
            Self::Failing(_) => "look for errors of the disk in the system's log",
        }
    }

    pub(crate) fn trouble(&self, doing: &'static str) -> Trouble {
        match self {
            Self::Full(_) => Trouble::Full { doing },
            Self::ReadOnly | Self::Failing(_) => Trouble::Unwritable { doing, why: self.to_string() },
        }
    }
}

/// Whether a write failed. A part of the data file that can't be read is no reason to stop firing.
fn is_write(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code.is_some_and(|code| {
        [
            ffi::SQLITE_IOERR_WRITE,
            ffi::SQLITE_IOERR_FSYNC,
            ffi::SQLITE_IOERR_DIR_FSYNC,
            ffi::SQLITE_IOERR_TRUNCATE,
            ffi::SQLITE_IOERR_SHMOPEN,
            ffi::SQLITE_IOERR_SHMSIZE,
            ffi::SQLITE_IOERR_SHMMAP,
        ]
        .contains(&code)
    })
}

/// Whether there is an outage, as of the last writes and tries.
pub(crate) struct Outages {
    dir: PathBuf,
    now: Mutex<Option<Outage>>,
}

impl Outages {
    /// Starts with a try: a server that starts on a full disk fires nothing before there is space.
    pub(crate) fn new(dir: &Path) -> Self {
        let outages = Self { dir: dir.to_owned(), now: Mutex::default() };
        if let Err(outage) = try_space(dir) {
            outages.begin(outage);
        }
        outages
    }

    /// The present outage, if any.
    pub(crate) fn now(&self) -> Option<Outage> {
        self.guard().clone()
    }

    pub(crate) fn check(&self, doing: &'static str) -> Result<(), Trouble> {
        self.guard().as_ref().map_or(Ok(()), |outage| Err(outage.trouble(doing)))
    }

    /// What an error of SQLite means for all writes; remembers it.
    pub(crate) fn note(&self, error: &rusqlite::Error) -> Option<Outage> {
        let outage = Outage::of_sqlite(error, &self.dir)?;
        self.begin(outage.clone());
        Some(outage)
    }

    /// Tries whether the outage is over, and logs that it is.
    pub(crate) fn try_end(&self, conn: &Connection) {
        if let Err(outage) = try_space(&self.dir) {
            self.begin(outage);
            return;
        }
        if let Err(error) = conn.execute(query::try_write, []) {
            self.note(&error);
            return;
        }
        *self.guard() = None;
        tracing::info!(dir = %self.dir.display(), "the data directory can be written again");
    }

    /// An outage begins, or its cause has changed.
    fn begin(&self, outage: Outage) {
        let mut now = self.guard();
        if now.is_none() {
            tracing::error!(
                dir = %self.dir.display(),
                why = %outage,
                "the data directory can't be written; what is due waits until it can"
            );
        }
        *now = Some(outage);
    }

    fn guard(&self) -> MutexGuard<'_, Option<Outage>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes enough bytes into the directory to prove that there is space, and removes them.
pub(crate) fn try_space(dir: &Path) -> Result<(), Outage> {
    let path = dir.join(layout::PROBE);
    let mut open = OpenOptions::new();
    open.write(true).create(true).truncate(true).mode(layout::FILE_MODE);
    let written = open.open(&path).and_then(|mut file| {
        let piece = vec![0; PIECE_BYTES];
        (0..SPACE_BYTES / PIECE_BYTES).try_for_each(|_| file.write_all(&piece))
    });
    // If it could not be created there is none.
    let _ = std::fs::remove_file(&path);
    written.map_err(|error| Outage::of_io(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_told_apart() {
        let check = |kind: ErrorKind, text: &str| {
            let outage = Outage::of_io(&io::Error::from(kind));
            assert!(outage.to_string().starts_with(text), "{outage}");
        };
        check(ErrorKind::StorageFull, "no space is left on the disk (");
        check(ErrorKind::QuotaExceeded, "no space is left on the disk (");
        check(ErrorKind::FileTooLarge, "no space is left on the disk (");
        check(ErrorKind::ReadOnlyFilesystem, "the file system is read-only");
        check(ErrorKind::Other, "the disk fails (");
    }

    #[test]
    fn what_sqlite_says_is_an_outage_if_it_is_about_all_writes() {
        let dir = tempfile::tempdir().unwrap();
        let told = |code: i32, dir: &Path| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            Outage::of_sqlite(&error, dir)
        };
        assert!(matches!(told(ffi::SQLITE_FULL, dir.path()), Some(Outage::Full(_))));
        assert!(matches!(told(ffi::SQLITE_IOERR_WRITE, dir.path()), Some(Outage::Failing(_))));
        for one in [ffi::SQLITE_IOERR_READ, ffi::SQLITE_READONLY, ffi::SQLITE_CORRUPT, ffi::SQLITE_BUSY] {
            assert_eq!(told(one, dir.path()), None, "{one}");
        }
        let nowhere = Path::new("/no/such/place");
        for one in [ffi::SQLITE_IOERR_SHMSIZE, ffi::SQLITE_READONLY, ffi::SQLITE_CANTOPEN] {
            assert!(told(one, nowhere).is_some(), "{one}: nothing can be written there");
        }
    }

    #[test]
    fn a_try_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(try_space(dir.path()), Ok(()));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(matches!(try_space(Path::new("/no/such/place")), Err(Outage::Failing(_))));
    }
}
