//! Examines all data of a stopped server.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use punctual_api::{Checkup, FAULTED_NAMED};
use punctual_model::inspect::Inspection;
use punctual_runner::{Inspector, InspectorSettings};
use punctual_store::{KeyRing, Survey, Vault};
use punctual_store_sqlite::{Keys, OpenError, StoppedStore, layout};
use tokio::time::Instant;

use crate::clock::{RealClock, real_now};
use crate::exit::WrongUsage;
use crate::file_size;

pub(super) async fn check(dir: &Path, key_file: Option<&Path>) -> anyhow::Result<Checkup> {
    file_size::survive_limit().await.context("could not listen for signals")?;
    let keys = key_file.map_or_else(|| dir.join(layout::KEYS), Path::to_owned);
    let store = Arc::new(open(dir, vault(&keys, key_file.is_some())?)?);
    let key_problem = key_problem(store.keys(), &keys);
    let mut progress = Progress::new();
    progress.tell("checking the data file");
    let damage = store.file_damage().context("could not check the data file")?;
    // Nothing fires what is due, so nothing counts as overdue.
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
    report.problems.extend(key_problem);
    let mut census = survey.census(FAULTED_NAMED).await.context("could not count jobs")?;
    // The pass has just counted exactly, whatever was done to the data.
    census.job_count = report.last_pass.map_or(census.job_count, |pass| pass.job_count);
    Ok(Checkup::new(&report, Some(&census), real_now()))
}

fn key_problem(keys: Keys, path: &Path) -> Option<String> {
    let path = path.display();
    match keys {
        Keys::Fit | Keys::Missing { sealed_count: 0 } => None,
        Keys::Missing { sealed_count } => {
            let who =
                if sealed_count == 1 { "1 job has".to_owned() } else { format!("{sealed_count} jobs have") };
            Some(format!(
                "The key file {path} is missing, and {who} secrets that were sealed with it: a server refuses to \
                 start. Put it back from a backup; if it is kept elsewhere, name it by --key-file here and by \
                 data.key_file for the server."
            ))
        }
        Keys::Wrong => Some(format!(
            "The key file {path} is not the one that the secrets were sealed with: a server refuses to start. Put the \
             right one in its place."
        )),
    }
}

fn open(dir: &Path, vault: Option<Vault>) -> anyhow::Result<StoppedStore> {
    StoppedStore::open(dir, vault).map_err(|error| match error {
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
        OpenError::Foreign { .. }
        | OpenError::Open { .. }
        | OpenError::Emptied { .. }
        | OpenError::Unwritable { .. }
        | OpenError::WrongKey(_)
        | OpenError::Sqlite(_)
        | OpenError::Thread(_) => anyhow::Error::new(error),
    })
}

/// The keys to read definitions with; none if there is no key file.
fn vault(path: &Path, named: bool) -> anyhow::Result<Option<Vault>> {
    let wrong = |why: String| WrongUsage(format!("could not use the key file {}: {why}", path.display()));
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let ring = KeyRing::parse(&text).map_err(|error| wrong(error.to_string()))?;
            Ok(Some(Vault::new(&ring)))
        }
        Err(error) if error.kind() == ErrorKind::NotFound && !named => Ok(None),
        Err(error) => Err(wrong(error.to_string()).into()),
    }
}

/// Shows the progress on a terminal.
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
            // If this fails nobody is watching.
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
