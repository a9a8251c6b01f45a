//! The lock on a data directory: one process owns it.
//!
//! The directory itself is locked, so that the lock holds whatever happens to the files in it. The lock file
//! names the owner, and is locked as well.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::OpenError;
use crate::layout::{FILE_MODE, LOCK};

/// Locks the directory until it is dropped. The operating system releases the lock when the process ends,
/// however it ends; the file stays and means nothing by itself.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    _dir: File,
    _file: Option<File>,
}

impl DirectoryLock {
    /// Locks the directory for a server; creates the lock file if there is none.
    pub(crate) fn take(dir: &Path) -> Result<Self, OpenError> {
        Self::take_by(dir, |path| {
            let mut open = OpenOptions::new();
            open.read(true).write(true).create(true).truncate(false).mode(FILE_MODE);
            let file = open.open(path)?;
            // The umask may have removed something.
            file.set_permissions(Permissions::from_mode(FILE_MODE))?;
            Ok(Some(file))
        })
    }

    /// Locks the directory to read it; leaves no file, and works on a read-only file system.
    pub(crate) fn take_to_look(dir: &Path) -> Result<Self, OpenError> {
        Self::take_by(dir, |path| Ok(OpenOptions::new().read(true).write(true).open(path).ok()))
    }

    fn take_by(dir: &Path, open: impl FnOnce(&Path) -> io::Result<Option<File>>) -> Result<Self, OpenError> {
        let failed = |source: io::Error| OpenError::Directory { dir: dir.to_owned(), source };
        let path = dir.join(LOCK);
        let owned = || OpenError::Owned { dir: dir.to_owned(), owner: owner(&path) };
        let directory = File::open(dir).map_err(failed)?;
        match directory.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(owned()),
            // Some network file systems can only lock files.
            Err(TryLockError::Error(error)) => {
                tracing::warn!(%error, "could not lock the data directory itself; its lock file must do");
            }
        }
        let mut file = open(&path).map_err(failed)?;
        if let Some(file) = &mut file {
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(owned()),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
            // A second process is told this. If it can't be written, on a full disk, the process only lacks the
            // name.
            let _ = sign(file);
        }
        Ok(Self { _dir: directory, _file: file })
    }
}

fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// The owner, if it has written its process id into the file and the file is still there.
fn owner(path: &Path) -> String {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(32).read_to_string(&mut text));
    match (read, text.trim().parse::<u32>()) {
        (Ok(_), Ok(pid)) => format!("process {pid}"),
        _ => "another process".to_owned(),
    }
}
