//! Searches for jobs that are ahead of the clock, in pieces, and repairs them.
//!
//! `punctual_model::decide::repair` decides. Each job is repaired by itself, so a sweep may be stopped or
//! killed anywhere: the next one finds the rest.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jiff::Timestamp;
use punctual_model::decide::{self, Ahead, Repair};
use punctual_model::{JobId, Limits};
use punctual_store::{AheadAsk, Repaired, Trouble};

use crate::Runner;
use crate::context::RunnerContext;

/// The number of jobs that are examined in a piece: some milliseconds of reading.
const JOBS_A_PIECE: usize = 5_000;

/// The most repairs of a piece: some milliseconds of writing, so that firings don't wait for it.
const REPAIRS_A_PIECE: usize = 200;

/// The result of a search for jobs that are ahead of the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// How many jobs were repaired.
    pub repaired_count: u64,
    /// How far the furthest of them had come.
    pub latest_at: Option<Timestamp>,
    /// Jobs that were in flight, or were written meanwhile: to be examined again.
    pub busy: Vec<JobId>,
}

impl Runner {
    /// Examines every job once and repairs those that are ahead of the clock. A running runner does that by
    /// itself when it starts, when the clock was set back, and every hour.
    pub async fn repair(&self) -> Result<RepairReport, Trouble> {
        sweep(&self.context).await
    }
}

/// Examines every job.
pub(crate) async fn sweep(context: &RunnerContext) -> Result<RepairReport, Trouble> {
    let mut report = RepairReport::default();
    let mut after = None;
    loop {
        let now = context.clock.now();
        let ask = AheadAsk { after, job_limit: JOBS_A_PIECE, found_limit: REPAIRS_A_PIECE, now };
        after = piece(context, &ask, &mut report).await?;
        if after.is_none() {
            return Ok(report);
        }
    }
}

/// Examines some jobs.
pub(crate) async fn look_at(context: &RunnerContext, jobs: &[JobId]) -> Result<RepairReport, Trouble> {
    let mut report = RepairReport::default();
    for job in jobs {
        piece(context, &AheadAsk::one(*job, context.clock.now()), &mut report).await?;
    }
    Ok(report)
}

/// Examines the next jobs and repairs them; returns where to continue.
async fn piece(
    context: &RunnerContext,
    ask: &AheadAsk,
    report: &mut RepairReport,
) -> Result<Option<JobId>, Trouble> {
    let page = context.store.ahead(ask).await?;
    let latest = |found: &Ahead| found.job.progress.past_at.max(Some(found.job.put_at));
    let found: Vec<_> = page.found.iter().map(|found| (found.job.id, latest(found))).collect();
    let repairs = decide_all(page.found, ask.now, context.settings.limits).await;
    let ids: Vec<JobId> = repairs.iter().map(|repair| repair.job.id).collect();
    let answers = if repairs.is_empty() { Vec::new() } else { context.store.repair(repairs).await? };
    for (job, answer) in ids.into_iter().zip(answers) {
        match answer {
            Repaired::Written => {
                report.repaired_count += 1;
                let come = found.iter().find(|(id, _)| *id == job).and_then(|(_, latest)| *latest);
                report.latest_at = report.latest_at.max(come);
            }
            Repaired::InFlight | Repaired::Stale => report.busy.push(job),
        }
    }
    Ok(page.last)
}

/// Decides on some jobs, which may take some ten milliseconds, on a blocking thread.
async fn decide_all(found: Vec<Ahead>, now: Timestamp, limits: Limits) -> Vec<Repair> {
    if found.is_empty() {
        return Vec::new();
    }
    let decide = move || found.iter().filter_map(|found| decide_safely(found, now, &limits)).collect();
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(decide).await.unwrap_or_default(),
        Err(_) => decide(),
    }
}

/// A panic is a bug, reported when it happens; it must cost only this job.
fn decide_safely(found: &Ahead, now: Timestamp, limits: &Limits) -> Option<Repair> {
    let decided = catch_unwind(AssertUnwindSafe(|| decide::repair(found, now, limits.of(found.sku))));
    decided.unwrap_or_else(|_| {
        tracing::error!(job = %found.job.key.name, "an internal error kept a job from being put back");
        None
    })
}
