//! A disk that can be filled: a file system of a few megabytes where one can be mounted, and otherwise a limit on
//! the size of files.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use tempfile::TempDir;

use crate::command::punctual;
use crate::server::Server;

pub(crate) struct SmallDisk {
    folder: TempDir,
    pub(crate) mounted: bool,
}

impl SmallDisk {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mounted = mount(&["-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs"], folder.path());
        if !mounted {
            say(
                "NO FILE SYSTEM COULD BE MOUNTED: a limit on the size of files takes the place of a full disk",
            );
        }
        Self { folder, mounted }
    }

    /// A data directory on it.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Leaves no space. For a server that runs, where nothing could be mounted.
    pub(crate) fn fill(&self, server: Option<&Server>) {
        if self.mounted {
            let mut filler = File::create(self.filler()).unwrap();
            let error = (0..).find_map(|_| filler.write_all(&[7; 4_096]).err()).unwrap();
            assert_eq!(error.kind(), ErrorKind::StorageFull);
        } else if let Some(server) = server {
            let size = fs::metadata(self.data().join("punctual.db-wal")).unwrap().len();
            limit(server, Some(size));
        }
    }

    /// There is space again.
    pub(crate) fn free(&self, server: Option<&Server>) {
        if self.mounted {
            fs::remove_file(self.filler()).unwrap();
        } else if let Some(server) = server {
            limit(server, None);
        }
    }

    /// Leaves so much space on a disk that was filled; only where it is mounted.
    pub(crate) fn leave(&self, bytes: u64) {
        let filler = File::options().write(true).open(self.filler()).unwrap();
        let size = filler.metadata().unwrap().len();
        filler.set_len(size - bytes).unwrap();
    }

    /// A command that finds the disk full when it starts.
    pub(crate) fn command(&self) -> Command {
        if self.mounted {
            return punctual();
        }
        let mut command = Command::new("bash");
        command.args(["-c", "ulimit -S -f 1; exec \"$0\" \"$@\""]).arg(env!("CARGO_BIN_EXE_punctual"));
        command
    }

    /// Mounts it anew; only where it is mounted at all.
    pub(crate) fn remount(&self, how: &str) {
        assert!(mount(&["-o", &format!("remount,{how}")], self.folder.path()));
    }

    fn filler(&self) -> PathBuf {
        self.folder.path().join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if self.mounted {
            let _ = Command::new("umount").arg("--lazy").arg(self.folder.path()).status();
        }
    }
}

/// Says something that is seen even if the test succeeds.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn mount(arguments: &[&str], place: &Path) -> bool {
    let mounted = Command::new("mount").args(arguments).arg(place).stderr(Stdio::null()).status();
    mounted.is_ok_and(|status| status.success())
}

fn limit(server: &Server, size: Option<u64>) {
    // Whoever is not root may not raise the upper limit, which the server has from us.
    let maximum = getrlimit(Resource::Fsize).maximum;
    let new = Rlimit { current: size.or(maximum), maximum };
    prlimit(Pid::from_raw(server.pid()), Resource::Fsize, new).unwrap();
}
