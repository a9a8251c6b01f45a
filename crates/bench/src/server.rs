//! The server under test, as a process of its own.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::clock;
use crate::process::{self, Memory};

/// How long a start may take.
const START_MAX: Duration = Duration::from_secs(120);
/// How long a stop may take; the server's own grace is 10 s.
const STOP_MAX: Duration = Duration::from_secs(30);
/// How often a starting server is polled.
const ASK_EVERY: Duration = Duration::from_millis(1);

/// A running server. Dropping it kills it.
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    log: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    All,
    Api,
}

impl Server {
    /// Starts a server on a directory; returns it and how long it took to be ready.
    pub(crate) fn start(
        binary: &Path,
        dir: &Path,
        role: Role,
        settings: &[(&'static str, String)],
    ) -> anyhow::Result<(Self, Duration)> {
        let address = free_address()?;
        let log = dir.join("server.log");
        let output = File::options().create(true).append(true).open(&log).context("could not make a log")?;
        let since = clock::now();
        let child = Command::new(binary)
            .arg("serve")
            .arg("--listen")
            .arg(address.to_string())
            .arg("--data")
            .arg(dir.join("data"))
            .arg("--role")
            .arg(match role {
                Role::All => "all",
                Role::Api => "api",
            })
            // Settings in the environment of the bench are not for the server.
            .env_clear()
            .envs(settings.iter().map(|(name, value)| (*name, value)))
            .stdin(Stdio::null())
            .stdout(output.try_clone().context("could not share the log")?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("could not start {}", binary.display()))?;
        let mut server = Self { child, address, log };
        while !ready(address) {
            if let Some(status) = server.child.try_wait()? {
                bail!("the server ended at its start ({status}): {}", server.last_words());
            }
            if since.elapsed() > START_MAX {
                bail!("the server was not ready after {START_MAX:?}: {}", server.last_words());
            }
            clock::pause(ASK_EVERY);
        }
        Ok((server, since.elapsed()))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn memory(&self) -> anyhow::Result<Memory> {
        process::memory(self.child.id())
    }

    pub(crate) fn processor_time(&self) -> anyhow::Result<Duration> {
        process::processor_time(self.child.id())
    }

    /// Asks it to stop and waits until it has.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status();
        asked.context("could not ask the server to stop")?;
        let ended = clock::wait(STOP_MAX, ASK_EVERY, || !matches!(self.child.try_wait(), Ok(None)));
        if !ended {
            bail!("the server did not stop in {STOP_MAX:?}: {}", self.last_words());
        }
        Ok(())
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill().context("could not kill the server")?;
        self.child.wait().context("could not wait for the killed server")?;
        Ok(())
    }

    /// The end of its log.
    fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address that nobody listens on at the moment.
fn free_address() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("could not find a free port")?;
    Ok(listener.local_addr()?)
}

fn ready(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        let mut start = [0; 12];
        stream.read_exact(&mut start)?;
        Ok(&start[9..] == b"200")
    };
    ask().unwrap_or(false)
}
