//! The home of a node: a random id in a file of its data directory, by which a node that is started again on the same machine is told
//! from others.
//!
//! Whoever holds the lock of the file, finds the id of this boot of the machine in it, and finds it where it was written, knows that the
//! process before is gone: what that one had in the database is free at once. A directory that was copied gets another id, and so
//! does a machine that was started anew, whose node waits like anybody.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use punctual_model::{RandomSource, guid};

/// The file.
const NAME: &str = "node";

/// Where Linux tells one boot of the machine from another.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Far more than is in either of them.
const BYTES_MAX: u64 = 1_024;

/// The home of this node. Nobody else has its lock until it is dropped.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) id: String,
    _lock: File,
}

impl Home {
    /// Takes the home of a directory; none if another process has it.
    pub(crate) fn take(dir: &Path, random: &dyn RandomSource) -> io::Result<Option<Self>> {
        Self::take_in_boot(dir, &read(&mut File::open(BOOT_ID)?)?, random)
    }

    fn take_in_boot(dir: &Path, boot: &str, random: &dyn RandomSource) -> io::Result<Option<Self>> {
        let mut open = OpenOptions::new();
        let mut file =
            open.read(true).write(true).create(true).truncate(false).mode(0o600).open(dir.join(NAME))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let found = file.metadata()?;
        let place = format!("{} {} {}", boot.trim(), found.dev(), found.ino());
        let known = read(&mut file)?;
        let known = known.trim().split_once(' ').filter(|(id, at)| !id.is_empty() && *at == place);
        if let Some((id, _)) = known {
            return Ok(Some(Self { id: id.to_owned(), _lock: file }));
        }
        let id = guid(random.random());
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{id} {place}")?;
        file.sync_all()?;
        Ok(Some(Self { id, _lock: file }))
    }
}

fn read(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// Makes a directory that only its owner may use, if it is not there.
pub(crate) fn make_directory(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SystemRandom;

    #[test]
    fn a_home_is_known_again_in_the_same_boot_at_the_same_place_and_has_one_owner() {
        let random = SystemRandom::default();
        let dir = tempfile::tempdir().unwrap();
        let take = |dir: &Path, boot: &str| Home::take_in_boot(dir, boot, &random).unwrap();
        let first = take(dir.path(), "boot 1").unwrap();
        assert!(take(dir.path(), "boot 1").is_none(), "somebody has it");
        let id = first.id.clone();
        drop(first);
        assert_eq!(take(dir.path(), "boot 1").unwrap().id, id);
        let copy = tempfile::tempdir().unwrap();
        std::fs::copy(dir.path().join(NAME), copy.path().join(NAME)).unwrap();
        assert_ne!(take(copy.path(), "boot 1").unwrap().id, id, "it was copied");
        let other = take(dir.path(), "boot 2").unwrap();
        assert_ne!(other.id, id, "the machine was started anew");
        std::fs::write(dir.path().join(NAME), "rubbish").unwrap();
        drop(other);
        assert!(take(dir.path(), "boot 2").unwrap().id.len() > 30);
        assert!(Home::take(dir.path(), &random).unwrap().is_some());
    }
}
