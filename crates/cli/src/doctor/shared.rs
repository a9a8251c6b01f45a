//! Examines the database that several nodes share, whether they run or not.

use std::sync::Arc;

use anyhow::Context;
use punctual_api::{Checkup, FAULTED_NAMED};
use punctual_model::inspect::Inspection;
use punctual_runner::{Inspector, InspectorSettings};
use punctual_store::Survey;
use tokio::time::Instant;

use crate::clock::{RealClock, real_now};
use crate::options::Stored;
use crate::progress::Progress;
use crate::token::stopped::Stopped;

pub(super) async fn check(stored: &Stored) -> anyhow::Result<Checkup> {
    let opened = Stopped::open(stored, false).await?;
    let survey: Arc<dyn Survey> = opened.store;
    // Nothing is fired here, so nothing counts as overdue.
    let inspector =
        Inspector::new(Arc::clone(&survey), Arc::new(RealClock), None, InspectorSettings::default());
    let mut progress = Progress::new();
    let tell = |done: f64| progress.tell(&format!("looking at jobs: {:.0} %", done * 100.0));
    inspector.pass(tell).await.context("could not look at all jobs")?;
    inspector.look(Instant::now()).await.context("could not look at the agenda")?;
    progress.end();
    let report = inspector.report();
    let census = survey.census(FAULTED_NAMED).await.context("could not count jobs")?;
    Ok(Checkup::new(&report, Some(&census), real_now()))
}
