//! Examines all data of a stopped server.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use punctual_api::{Checkup, FAULTED_NAMED};
use punctual_model::inspect::Inspection;
use punctual_runner::{Inspector, InspectorSettings};
use punctual_store::{Survey, Vault};
use punctual_store_sqlite::{Keys, OpenError, StoppedStore};
use tokio::time::Instant;

use crate::clock::{RealClock, real_now};
use crate::exit::WrongUsage;
use crate::file_size;
use crate::keys::{Given, Source};
use crate::progress::Progress;

pub(super) async fn check(dir: &Path, key_file: &Path) -> anyhow::Result<Checkup> {
    file_size::survive_limit().await.context("could not listen for signals")?;
    let source = Source::find(dir, key_file, Given::here())?;
    let store = Arc::new(open(dir, source.read()?.as_ref().map(Vault::new))?);
    let key_problem = key_problem(store.keys(), &source);
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

fn key_problem(keys: Keys, source: &Source) -> Option<String> {
    // At the beginning of a sentence.
    let name = source.to_string().replacen("the", "The", 1);
    match keys {
        Keys::Fit | Keys::Missing { sealed_count: 0 } => None,
        Keys::Missing { sealed_count } => {
            let who =
                if sealed_count == 1 { "1 job has".to_owned() } else { format!("{sealed_count} jobs have") };
            Some(format!(
                "{name} is missing, and {who} secrets that were sealed with it: a server refuses to \
                 start. Put it back from a backup; if it is kept elsewhere, name it by --key-file here and by \
                 data.key_file for the server."
            ))
        }
        Keys::Wrong => Some(format!(
            "{name} is not the one that the secrets were sealed with: a server refuses to start. Put the right one in its \
             place."
        )),
        Keys::Lacking(key) => Some(format!(
            "Key {} is missing in {source}, and sealed with it: {}. A server refuses to start. Put it back from a backup.",
            key.id,
            key.needed_by().unwrap_or_default()
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
        | OpenError::MissingKeys(_)
        | OpenError::DifferentKey { .. }
        | OpenError::Sqlite(_)
        | OpenError::Used { .. }
        | OpenError::Thread(_) => anyhow::Error::new(error),
    })
}
