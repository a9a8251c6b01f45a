//! One process owns the data directory.
//!
//! What is locked is the directory itself, so that the lock holds whatever becomes of the files in it. The
//! lock file says who has it, and is locked as well.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::OpenError;
use crate::layout::{FILE_MODE, LOCK};

/// Holds the directory until it is dropped. The operating system lets go of it when the process ends,
/// however it ends; the file stays and means nothing by itself.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    _dir: File,
    _file: Option<File>,
}

impl DirectoryLock {
    /// Takes the directory for a server; makes the lock file if there is none.
    pub(crate) fn take(dir: &Path) -> Result<Self, OpenError> {
        Self::take_by(dir, |path| {
            let mut open = OpenOptions::new();
            open.read(true).write(true).create(true).truncate(false).mode(FILE_MODE);
            let file = open.open(path)?;
            // The umask may have taken something away.
            file.set_permissions(Permissions::from_mode(FILE_MODE))?;
            Ok(Some(file))
        })
    }

    /// Takes the directory to look at it; leaves nothing behind, also where nothing can be written.
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
            // Some network file systems lock files only.
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
            // Whoever comes second is told this. On a full disk he is not, and that is all.
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

/// Who has written its process id into the file; it may not have come to that, or the file may be gone.
fn owner(path: &Path) -> String {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(32).read_to_string(&mut text));
    match (read, text.trim().parse::<u32>()) {
        (Ok(_), Ok(pid)) => format!("process {pid}"),
        _ => "another process".to_owned(),
    }
}
