//! Acts on steps of the clock.
//!
//! The clock itself stands still while a step forward is held (`punctual_model::ClockWatch`), so firing needs
//! no hook. Here steps are logged and become findings, and jobs that are ahead of the clock are searched: at
//! the start, after a step back, and every hour. Jobs that were in flight when the clock was set back are
//! examined when they are settled.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use punctual_model::{Chain, ClockEvent, ClockNews, ClockWatch, JobId};
use punctual_store::Trouble;
use tokio::sync::watch;

use crate::clock_findings;
use crate::context::RunnerContext;
use crate::repair::{self, RepairReport};

/// How often to look at the clock.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How often all jobs are examined even if no step was seen.
const SWEEP_EVERY: Duration = Duration::from_secs(3_600);

/// How often to examine jobs again that were in flight, and all of them after a failure of the store.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Runs until it is told to stop; for a clock with a watch.
pub(crate) async fn run(context: Arc<RunnerContext>, mut stop: watch::Receiver<bool>) {
    let mut watcher = Watcher::default();
    while !*stop.borrow() {
        let Some(clock) = context.clock.watch() else { return };
        watcher.look(&context, clock).await;
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = stop.changed() => {}
        }
    }
}

#[derive(Default)]
struct Watcher {
    /// The number of the last event that was handled.
    heard: u64,
    /// When all jobs were last examined, in time since the machine was started; none if they are to be.
    swept: Option<Duration>,
    /// When some were last examined again, or a failure happened.
    tried: Option<Duration>,
    /// Jobs that were in flight when the clock was set back, or when they were to be repaired.
    busy: HashSet<JobId>,
    /// The store failed last time.
    troubled: bool,
}

impl Watcher {
    async fn look(&mut self, context: &RunnerContext, clock: &ClockWatch) {
        // Reading the clock makes the watch compare it.
        context.clock.now();
        for news in clock.news(self.heard) {
            self.heard = news.number;
            tell(&news);
            context.clock_findings.note(&news);
            if news.event == ClockEvent::Back {
                self.swept = None;
            }
        }
        if clock.held().is_some() {
            return;
        }
        let boot = clock.boot();
        let resting = self.tried.is_some_and(|tried| boot.saturating_sub(tried) < AGAIN_AFTER);
        let due = self.swept.is_none_or(|swept| boot.saturating_sub(swept) >= SWEEP_EVERY);
        let done = match (due, resting && self.troubled) {
            (true, false) => self.sweep(context, boot).await,
            (false, _) if !resting && !self.busy.is_empty() => self.look_again(context, boot).await,
            (_, _) => return,
        };
        match done {
            Ok(report) => {
                self.troubled = false;
                self.busy.extend(report.busy.iter().copied());
                tell_repaired(&report);
                context.clock_findings.note_repaired(&report, context.clock.now(), boot);
            }
            Err(trouble) if !self.troubled => {
                self.troubled = true;
                tracing::error!(
                    error = %Chain(&trouble),
                    "could not look for jobs that are ahead of the clock; trying again"
                );
            }
            Err(_) => {}
        }
    }

    /// Examines all jobs. Those in flight may be ahead when they are settled.
    async fn sweep(&mut self, context: &RunnerContext, boot: Duration) -> Result<RepairReport, Trouble> {
        self.tried = Some(boot);
        let held = context.store.held().await?;
        self.busy.extend(held.iter().filter(|claim| claim.begun).map(|claim| claim.job));
        let report = repair::sweep(context).await?;
        self.swept = Some(boot);
        Ok(report)
    }

    /// Examines jobs that were in flight and are not any more.
    async fn look_again(&mut self, context: &RunnerContext, boot: Duration) -> Result<RepairReport, Trouble> {
        self.tried = Some(boot);
        let busy: Vec<JobId> = self.busy.iter().copied().collect();
        let in_flight: HashSet<JobId> = context.store.in_flight(&busy).await?.into_iter().collect();
        let settled: Vec<JobId> = self.busy.difference(&in_flight).copied().collect();
        let report = repair::look_at(context, &settled).await?;
        self.busy = in_flight;
        Ok(report)
    }
}

fn tell(news: &ClockNews) {
    let by = clock_findings::span(news.by);
    match news.event {
        ClockEvent::Held => tracing::warn!(
            by,
            clock = %news.at,
            "the clock went forward and no suspension of the machine explains it; nothing fires for now"
        ),
        ClockEvent::Forward => {
            tracing::warn!(by, clock = %news.at, "the clock stayed where it went forward to; firing goes on from there");
        }
        ClockEvent::Returned => {
            tracing::info!(clock = %news.at, "the clock came back; firing goes on as if nothing had happened");
        }
        ClockEvent::Back => {
            tracing::warn!(by, clock = %news.at, "the clock went back; looking for jobs that have come further");
        }
    }
}

fn tell_repaired(report: &RepairReport) {
    let RepairReport { repaired_count, latest_at, .. } = report;
    if let Some(latest) = latest_at {
        tracing::warn!(repaired_count, %latest, "jobs had come further than the clock; they go on from now");
    }
}
