//! `punctual demo`: a server with sample jobs and weeks of history, to look around in.
//!
//! Everything is real but the past: the store, the runner, the requests. The past is made by the same runner on a clock that leaps
//! from one due time to the next ([`history`]); then the server starts on the real clock, with the same data. The data is in a
//! temporary folder, which goes when the server stops.

mod history;
mod sample;

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use punctual_model::{RandomSource, guid};
use punctual_runner::Supervisor;

use self::history::Made;
use super::deadline::Deadline;
use super::stop::Signals;
use super::{THREADS_TIME_MAX, access, echo, log, run};
use crate::clock::real_now;
use crate::config::{self, Config, Override};
use crate::exit::Exit;
use crate::options::DemoOptions;
use crate::random::SystemRandom;

/// Where it listens, unless that is taken or another address is wanted.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8380);

pub(crate) fn demo(options: &DemoOptions) -> anyhow::Result<Exit> {
    let folder = Folder::make()?;
    let mut config = config::load(None, config::environment()?, overrides(options, &folder.path))?;
    // Sample jobs belong in nobody's database.
    config.store.url = None;
    log::start(&config.log)?;
    access::check_listen(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("could not start the runtime")?;
    let deadline = Deadline::default();
    let outcome = runtime.block_on(async {
        let mut signals = Signals::listen().context("could not listen for signals")?;
        let made = tokio::select! {
            made = make(&mut config, options.weeks) => made?,
            () = signals.wait() => return Ok(Exit::Fine),
        };
        tell(&made, options.weeks, &folder.path);
        run(config, signals, &Supervisor::default(), &deadline).await
    });
    runtime.shutdown_timeout(THREADS_TIME_MAX);
    outcome
}

/// Makes the past. Its jobs call the echo target, which stays where it is.
async fn make(config: &mut Config, weeks: u32) -> anyhow::Result<Made> {
    let wanted = config.server.echo_listen.unwrap_or(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0));
    let listener = echo::bind(wanted)?;
    let address = listener.local_addr().context("could not ask where the echo target is")?;
    config.server.echo_listen = Some(address);
    history::make(config, listener, sample::of(address, weeks, real_now())).await
}

/// Says what there is to see. If nobody reads it, the server goes on.
fn tell(made: &Made, weeks: u32, folder: &Path) {
    let weeks = if weeks == 1 { "a week".to_owned() } else { format!("{weeks} weeks") };
    let _ = writeln!(
        std::io::stdout().lock(),
        "A demo: {} jobs with {weeks} of history, {} attempts, in {}, which goes when the demo ends (Ctrl-C)",
        made.job_count,
        made.attempt_count,
        folder.display()
    );
}

/// What differs from a server that is to be kept.
fn overrides(options: &DemoOptions, folder: &Path) -> Vec<Override> {
    let listen = options.listen.clone().unwrap_or_else(|| {
        let taken = TcpListener::bind(LISTEN).is_err();
        let free = SocketAddr::new(LISTEN.ip(), 0);
        if taken { free } else { LISTEN }.to_string()
    });
    let of = |section, key, value: String| Override { option: "punctual demo", section, key, value };
    vec![
        Override { option: "--listen", section: "server", key: "listen", value: listen },
        of("data", "dir", folder.display().to_string()),
        // The jobs that fail are what there is to see.
        of("log", "level", "error".to_owned()),
    ]
}

/// A folder that goes with this value.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn make() -> anyhow::Result<Self> {
        let name = format!("punctual-demo-{}", guid(SystemRandom::default().random()));
        let path = std::env::temp_dir().join(name);
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("could not make the folder {}", path.display()))?;
        Ok(Self { path })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            tracing::error!(%error, folder = %self.path.display(), "the folder of the demo could not be removed");
        }
    }
}
