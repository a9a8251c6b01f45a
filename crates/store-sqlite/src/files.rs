//! Checks whether the files of a running server still exist. It could go on without them, and all would be lost
//! at its end.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::layout;

/// The files as they were when the store was opened.
pub(crate) struct Files {
    dir: PathBuf,
    /// Device and inode of the data file.
    database: (u64, u64),
    keys_seen: AtomicBool,
    others: OnceLock<Box<Watch>>,
}

/// Tells what is wrong with files that are kept elsewhere, one sentence each.
type Watch = dyn Fn() -> Vec<String> + Send + Sync;

impl Files {
    pub(crate) fn new(dir: &Path) -> io::Result<Self> {
        let database = number(&dir.join(layout::DATABASE))?;
        Ok(Self { dir: dir.to_owned(), database, keys_seen: AtomicBool::new(false), others: OnceLock::new() })
    }

    /// Has somebody else looked at other files with these; the first who asks for that is.
    pub(crate) fn watch(&self, others: impl Fn() -> Vec<String> + Send + Sync + 'static) {
        let _ = self.others.set(Box::new(others));
    }

    /// What is wrong with them, one sentence each.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let database = self.dir.join(layout::DATABASE);
        if number(&database).ok() != Some(self.database) {
            problems.push(format!(
                "The data file {} was removed or replaced while the server runs: what it writes is lost when it \
                 stops. Copy the old file from /proc/{}/fd, stop the server and put the file back, or restore a \
                 backup.",
                database.display(),
                std::process::id(),
            ));
        }
        let keys = self.dir.join(layout::KEYS);
        if keys.exists() {
            self.keys_seen.store(true, Ordering::Relaxed);
        } else if self.keys_seen.load(Ordering::Relaxed) {
            problems.push(format!(
                "The key file {} was removed while the server runs: without it the server does not start again, \
                 and the secrets of jobs are lost. Put it back from a backup.",
                keys.display(),
            ));
        }
        problems.extend(self.others.get().map(|others| others()).unwrap_or_default());
        problems
    }
}

fn number(path: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(path).map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_removed_or_replaced_under_a_server_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path(layout::DATABASE), "x").unwrap();
        let files = Files::new(dir.path()).unwrap();
        assert_eq!(files.problems(), [] as [&str; 0], "keys may be kept elsewhere");
        fs::write(path(layout::KEYS), "x").unwrap();
        assert_eq!(files.problems(), [] as [&str; 0]);

        fs::write(path("other"), "x").unwrap();
        fs::rename(path("other"), path(layout::DATABASE)).unwrap();
        fs::remove_file(path(layout::KEYS)).unwrap();
        let problems = files.problems();
        assert_eq!(problems.len(), 2);
        assert!(problems[0].contains("was removed or replaced while the server runs"), "{problems:?}");
        assert!(problems[1].contains("The key file"), "{problems:?}");
    }
}
