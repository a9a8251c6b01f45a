//! Looks through the data of a stopped server, all of it.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use punctual_api::{Checkup, FAULTED_NAMED};
use punctual_model::inspect::Inspection;
use punctual_runner::{Inspector, InspectorSettings};
use punctual_store::{KeyRing, Survey, Vault};
use punctual_store_sqlite::{OpenError, StoppedStore};
use tokio::time::Instant;

use crate::clock::{RealClock, real_now};
use crate::exit::WrongUsage;

pub(super) async fn check(dir: &Path) -> anyhow::Result<Checkup> {
    let store = Arc::new(open(dir)?);
    let mut progress = Progress::new();
    progress.tell("checking the data file");
    let damage = store.file_damage().context("could not check the data file")?;
    // Nobody fires what is due, so nothing of that is overdue.
    let survey: Arc<dyn Survey> = store;
    let inspector =
        Inspector::new(Arc::clone(&survey), Arc::new(RealClock), None, InspectorSettings::default());
    let tell = |done: f64| progress.tell(&format!("looking at jobs: {:.0} %", done * 100.0));
    inspector.pass(tell).await.context("could not look at all jobs")?;
    inspector.look(Instant::now()).await.context("could not look at the agenda")?;
    progress.end();
    let mut report = inspector.report();
    if !damage.is_empty() {
        report.trouble = Some(format!("the data file is damaged: {}", damage.join("; ")));
    }
    let mut census = survey.census(FAULTED_NAMED).await.context("could not count jobs")?;
    // What was just looked at is exact, whatever was done to the data.
    census.job_count = report.last_pass.map_or(census.job_count, |pass| pass.job_count);
    Ok(Checkup::new(&report, Some(&census), real_now()))
}

fn open(dir: &Path) -> anyhow::Result<StoppedStore> {
    StoppedStore::open(dir, vault(dir)?).map_err(|error| match error {
        OpenError::Owned { .. } => {
            WrongUsage(format!("{error}; or ask the server that runs, with --url and without --data")).into()
        }
        OpenError::Missing { .. }
        | OpenError::Directory { .. }
        | OpenError::Older { .. }
        | OpenError::Newer { .. } => {
            let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
            WrongUsage(format!("{error}{}", source.unwrap_or_default())).into()
        }
        OpenError::WrongKey(_) | OpenError::Sqlite(_) | OpenError::Thread(_) => anyhow::Error::new(error),
    })
}

/// The keys in the data directory, by which definitions can be read; none where they are kept elsewhere.
fn vault(dir: &Path) -> anyhow::Result<Option<Vault>> {
    let path = dir.join("keys");
    let wrong = |why: String| WrongUsage(format!("could not use the key file {}: {why}", path.display()));
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let ring = KeyRing::parse(&text).map_err(|error| wrong(error.to_string()))?;
            Ok(Some(Vault::new(&ring)))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(wrong(error.to_string()).into()),
    }
}

/// Says how far it is, to a person who waits.
struct Progress {
    terminal: bool,
    said: String,
}

impl Progress {
    fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), said: String::new() }
    }

    fn tell(&mut self, what: &str) {
        if self.terminal && what != self.said {
            // Whoever can't be told is not waiting.
            let _ = write!(std::io::stderr(), "\r{what:<40}");
            self.said = what.to_owned();
        }
    }

    fn end(&mut self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r{:40}\r", "");
        }
    }
}
