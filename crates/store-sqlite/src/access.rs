//! Permissions of a data directory: only its owner may use it.
//!
//! Modes that allow others in are corrected, with a warning. Another owner is refused, even for root: the
//! owner, who usually runs the server, could not read files that root creates there. A directory with other
//! directories in it, such as /tmp or a home, is shared and not ours to close: it is refused if others may
//! write in it.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::OpenError;
use crate::layout::{DATABASE, DIRECTORY_MODE, FILE_MODE, FILES};

/// A directory that new file systems have.
const LOST_AND_FOUND: &str = "lost+found";

/// Creates the directory and its parents if necessary.
pub(crate) fn make(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(dir)?;
    // The umask may have removed something.
    fs::set_permissions(dir, Permissions::from_mode(DIRECTORY_MODE))
}

/// Creates the data file, empty, if there is none.
pub(crate) fn make_database(dir: &Path) -> io::Result<()> {
    make_file(dir, DATABASE)
}

/// Creates a file, empty and for its owner only, if there is none.
pub(crate) fn make_file(dir: &Path, name: &str) -> io::Result<()> {
    let made = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(dir.join(name));
    match made {
        Ok(file) => {
            file.set_permissions(Permissions::from_mode(FILE_MODE))?;
            File::open(dir)?.sync_all()
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Refuses what belongs to another user, and removes permissions of others.
pub(crate) fn check(dir: &Path) -> Result<(), OpenError> {
    let failed = |source: io::Error| OpenError::Directory { dir: dir.to_owned(), source };
    let found = fs::metadata(dir).map_err(failed)?;
    check_owner(dir, &found)?;
    for name in FILES {
        let path = dir.join(name);
        if let Some(found) = there(&path).map_err(failed)? {
            check_owner(&path, &found)?;
        }
    }
    if is_shared(dir).map_err(failed)? {
        check_shared(dir, &found)?;
    } else {
        close(dir, &found, DIRECTORY_MODE)?;
    }
    for name in FILES {
        let path = dir.join(name);
        if let Some(found) = there(&path).map_err(failed)? {
            close(&path, &found, FILE_MODE)?;
        }
    }
    Ok(())
}

/// Files whose owner is not that of the directory: a server refuses them.
pub(crate) fn strangers(dir: &Path) -> io::Result<Vec<String>> {
    let owner = fs::metadata(dir)?.uid();
    let mut told = Vec::new();
    for name in FILES {
        if let Some(found) = there(&dir.join(name))?
            && found.uid() != owner
        {
            told.push(format!(
                "{} belongs to user {} and its directory to user {owner}: a server refuses that. Give all to one \
                 user with chown --recursive.",
                dir.join(name).display(),
                found.uid(),
            ));
        }
    }
    Ok(told)
}

fn there(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn check_owner(path: &Path, found: &Metadata) -> Result<(), OpenError> {
    let (owner, process) = (found.uid(), rustix::process::geteuid().as_raw());
    if owner == process {
        return Ok(());
    }
    Err(OpenError::Foreign { path: path.to_owned(), owner, process })
}

fn close(path: &Path, found: &Metadata, mode: u32) -> Result<(), OpenError> {
    let loose = found.permissions().mode() & 0o7777;
    if loose & 0o077 == 0 {
        return Ok(());
    }
    let open = |why: String| OpenError::Open { path: path.to_owned(), mode, why };
    let closed = fs::set_permissions(path, Permissions::from_mode(mode)).and_then(|()| fs::metadata(path));
    let closed = closed.map_err(|error| open(error.to_string()))?;
    if closed.permissions().mode() & 0o077 != 0 {
        return Err(open("its file system keeps no permissions".to_owned()));
    }
    tracing::warn!(
        path = %path.display(),
        was = %format_args!("{loose:o}"),
        is = %format_args!("{mode:o}"),
        "others could use this; its permissions were changed"
    );
    Ok(())
}

/// Whether a directory contains other directories, so that it is not only for the data of a server.
fn is_shared(dir: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && entry.file_name() != LOST_AND_FOUND {
            return Ok(true);
        }
    }
    Ok(false)
}

fn check_shared(dir: &Path, found: &Metadata) -> Result<(), OpenError> {
    let mode = found.permissions().mode();
    if mode & 0o022 != 0 {
        let why = "there are other directories in it, so that it was left as it is".to_owned();
        return Err(OpenError::Open { path: dir.to_owned(), mode: DIRECTORY_MODE, why });
    }
    if mode & 0o077 != 0 {
        tracing::warn!(
            path = %dir.display(),
            "others can list the data directory; there are other directories in it, so that it was left as it is"
        );
    }
    Ok(())
}
