//! The figures for Prometheus: what the runner and the store tell is counted, the rest is read when somebody asks.

mod process;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use punctual_api::Traffic;
use punctual_metrics::{
    Attempt, BacklogSample, ClaimEnd, ConnectionsSample, DiskSample, InspectionSample, JobsSample, Metrics,
    NodeSample, ProcessSample, RunnerSample, Sample, Sampler, StoreSample,
};
use punctual_model::Clock;
use punctual_model::inspect::{Inspection, Report};
use punctual_runner::{Event, Log, Loss, Observer, RunnerLoad, RunnerStatus};
use punctual_store::Store;
use punctual_store_sqlite::layout;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// How long a scrape waits for the store, and for the operating system. Whoever hangs is what it is asked about.
const READ_TIME_MAX: Duration = Duration::from_secs(2);

/// Writes the log and counts.
pub(super) struct Counting {
    pub(super) log: Log,
    pub(super) metrics: Arc<Metrics>,
}

impl Observer for Counting {
    fn hear(&self, event: &Event<'_>) {
        self.log.hear(event);
        let metrics = &self.metrics;
        match event {
            Event::Claimed(_) => metrics.claimed(),
            Event::Begun(_) => {}
            Event::Fired(attempt) => {
                if let Some(action) = attempt.firing.action() {
                    metrics.fired(&action.kind, attempt.lateness);
                }
            }
            Event::Ended { attempt, outcome, took } => {
                let firing = attempt.firing;
                if let Some(action) = firing.action() {
                    let (action, step, attempt) = (&action.kind, firing.step, firing.attempt);
                    metrics.attempt(&Attempt { action, step, attempt, outcome, took: *took });
                }
            }
            Event::Settled { .. } => metrics.claim_ended(ClaimEnd::Settled),
            Event::Skipped(skip) => metrics.skipped(skip.reason, skip.count),
            Event::GivenBack { .. } => metrics.claim_ended(ClaimEnd::GivenBack),
            Event::Lost { loss, .. } => metrics.claim_ended(match loss {
                Loss::TakenBack => ClaimEnd::TakenBack,
                Loss::Deleted => ClaimEnd::Deleted,
                Loss::Fenced => ClaimEnd::Fenced,
            }),
            Event::Batch { size, took, recorded } => metrics.batch(*size, *took, *recorded),
        }
    }
}

/// Reads what nobody counts.
pub(super) struct ServerSampler {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) inspection: Arc<dyn Inspection>,
    /// None if this process does not fire.
    pub(super) status: Option<RunnerStatus>,
    pub(super) traffic: Arc<Traffic>,
    pub(super) data: PathBuf,
    pub(super) certificate_expires_at: Option<Timestamp>,
    pub(super) started_at: Timestamp,
    /// Held while files are read, so that a disk that hangs holds one thread and not one for each scrape.
    pub(super) reading: Arc<Mutex<()>>,
}

#[async_trait]
impl Sampler for ServerSampler {
    async fn sample(&self) -> Sample {
        let census = timeout(READ_TIME_MAX, self.store.census(0)).await.ok().and_then(Result::ok);
        let (process, disk) = self.files().await;
        let now = self.clock.now();
        let report = self.inspection.report();
        let load = self.status.as_ref().map(RunnerStatus::load);
        Sample {
            version: env!("CARGO_PKG_VERSION"),
            clock: Some(now),
            failed: report.failure.is_some(),
            runner: load.as_ref().map(runner),
            backlog: backlog(&report, load.as_ref(), now),
            jobs: census
                .as_ref()
                .map(|census| JobsSample { count: census.job_count, faulted_count: census.faulted_count }),
            store: StoreSample {
                readable: census.is_some(),
                writable: report.outage.is_none(),
                problem_count: report.problems.len(),
            },
            inspection: InspectionSample {
                enabled: report.enabled,
                counts: report.counts,
                looked_at: report.looked_at,
                pass_count: report.pass_count,
            },
            disk,
            node: self.node(),
            connections: ConnectionsSample {
                open_count: self.traffic.open_count(),
                count_max: self.traffic.max(),
                refused_count: self.traffic.refused_count(),
            },
            certificate_expires_at: self.certificate_expires_at,
            process: process.map(|process| ProcessSample { started_at: Some(self.started_at), ..process }),
        }
    }
}

impl ServerSampler {
    fn node(&self) -> NodeSample {
        let standing = *self.store.standing().borrow();
        NodeSample {
            may_fire: standing.may_fire && self.status.is_some(),
            rank: standing.rank,
            firing_count: standing.firing_count,
            clock_lead: standing.clock_lead,
        }
    }

    /// What files say of the process and the disk; nothing while they are being read for somebody else.
    async fn files(&self) -> (Option<ProcessSample>, Option<DiskSample>) {
        let Ok(reading) = Arc::clone(&self.reading).try_lock_owned() else { return (None, None) };
        let data = self.data.clone();
        let read = tokio::task::spawn_blocking(move || {
            let read = (process::read(), disk(&data));
            drop(reading);
            read
        });
        timeout(READ_TIME_MAX, read).await.ok().and_then(Result::ok).unwrap_or_default()
    }
}

fn runner(load: &RunnerLoad) -> RunnerSample {
    RunnerSample {
        slot_count_max: load.slot_count_max,
        claim_count: load.claim_count,
        parked_count: load.parked_count,
        in_flight_count: load.in_flight_count,
        unrecorded_count: load.unrecorded_count,
    }
}

/// What the inspector saw of the agenda at its last look, and what the runner holds now. None before the first look.
///
/// The age of what was seen is that at the look: since then it has most likely been fired.
fn backlog(report: &Report, load: Option<&RunnerLoad>, now: Timestamp) -> Option<BacklogSample> {
    let looked_at = report.looked_at?;
    let unclaimed = report.oldest_due.map(|due| looked_at.duration_since(due.due_at));
    let claimed = load.and_then(|load| load.oldest_due_at).map(|due_at| now.duration_since(due_at));
    let waiting_count = load.map_or(0, |load| load.waiting_count as u64);
    Some(BacklogSample {
        count: report.due_count + waiting_count,
        oldest_age: unclaimed.into_iter().chain(claimed).max().unwrap_or(SignedDuration::ZERO),
    })
}

/// The disk of the data file; none if there is no such file, because the store is a database server.
fn disk(data: &Path) -> Option<DiskSample> {
    let size = |name: &str| std::fs::metadata(data.join(name)).map(|file| file.len());
    let store_bytes = size(layout::DATABASE).ok()? + size(layout::WAL).unwrap_or(0);
    let system = rustix::fs::statvfs(data).ok()?;
    Some(DiskSample {
        store_bytes,
        free_bytes: system.f_bavail.saturating_mul(system.f_frsize),
        size_bytes: system.f_blocks.saturating_mul(system.f_frsize),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_is_told_only_where_the_store_has_a_file_on_it() {
        let folder = tempfile::tempdir().unwrap();
        assert!(disk(folder.path()).is_none());
        std::fs::write(folder.path().join(layout::DATABASE), [0; 100]).unwrap();
        std::fs::write(folder.path().join(layout::WAL), [0; 20]).unwrap();
        let disk = disk(folder.path()).unwrap();
        assert!(disk.store_bytes == 120 && disk.free_bytes <= disk.size_bytes, "{disk:?}");
    }
}
