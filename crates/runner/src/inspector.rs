//! The inspector: checks in the background that what is stored is sound, and that what is due is done.
//!
//! ```text
//!   every few seconds   look: entries that nobody claims, claims that nobody ends     waits
//!                             what others have met and could not read                 walk
//!   once in an hour     walk: every collection and every job, in small pieces         walk
//!                             └── a suspect is read again in one snapshot ──> book: findings, counts
//! ```
//!
//! - It only reads. Nothing waits for it, it may be stopped or killed at any time, and its memory does not grow
//!   with the number of jobs.
//! - `punctual_model::inspect` judges; here is only when, and what is remembered.
//! - How long something lasts is measured in real time, from when it was first seen: so it means the same on a
//!   virtual clock, after a step of the clock, and after a restart with a long backlog.
//! - A finding is logged when it appears and when it is gone.

mod findings;
mod pending;
mod walk;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use punctual_model::Clock;
use punctual_model::inspect::{Inspection, Report, Subject};
use punctual_store::{Survey, Trouble};
use tokio::sync::watch;
use tokio::time::Instant;

use self::findings::{Findings, Task};
use self::pending::Pending;
use crate::status::RunnerStatus;
use crate::supervisor::{Supervisor, Tasks};

/// How long a stop waits for what is being read, which takes a few milliseconds.
const STOP_TIME_MAX: Duration = Duration::from_secs(2);

/// The settings of the inspector.
#[derive(Clone, Copy, Debug)]
pub struct InspectorSettings {
    /// How often to look at due entries and at claims.
    pub look_every: Duration,
    /// How long an entry may be due, or a claim be held, in real time. More than an attempt may take.
    pub tolerance: Duration,
    /// The time for one pass over all jobs; with very many jobs it takes longer.
    pub pass_every: Duration,
}

impl Default for InspectorSettings {
    fn default() -> Self {
        Self {
            look_every: Duration::from_secs(5),
            tolerance: Duration::from_secs(120),
            pass_every: Duration::from_secs(3_600),
        }
    }
}

/// Checks the invariants.
pub struct Inspector {
    store: Arc<dyn Survey>,
    clock: Arc<dyn Clock>,
    /// The status of the runner; none if there is no runner, so that due entries stay.
    status: Option<RunnerStatus>,
    settings: InspectorSettings,
    findings: Mutex<Findings>,
    pending: tokio::sync::Mutex<Pending>,
    supervisor: Supervisor,
}

/// A running inspector. Dropping it does not stop it; [`stop`](Inspecting::stop) does.
pub struct Inspecting {
    tasks: Tasks,
}

impl Inspector {
    /// Builds an inspector. `status` is that of the runner; without it nothing counts as overdue.
    pub fn new(
        store: Arc<dyn Survey>,
        clock: Arc<dyn Clock>,
        status: Option<RunnerStatus>,
        settings: InspectorSettings,
    ) -> Self {
        let (findings, pending) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { store, clock, status, settings, findings, pending, supervisor: Supervisor::default() }
    }

    /// The same, supervised together with others; its report shows which of those has ended.
    pub fn supervised(mut self, supervisor: &Supervisor) -> Self {
        self.supervisor = supervisor.clone();
        self
    }

    /// Starts inspecting, in two tasks of the current runtime.
    pub fn start(self: &Arc<Self>) -> Inspecting {
        let mut tasks = self.supervisor.tasks();
        let stop = tasks.told_to_stop();
        self.findings().enabled = true;
        tasks.spawn("inspector", Arc::clone(self).look_on(stop.clone()));
        tasks.spawn("walk of the inspector", Arc::clone(self).walk_on(stop));
        Inspecting { tasks }
    }

    /// Looks once at due entries and at claims. `now` is real time and does not go back.
    pub async fn look(&self, now: Instant) -> Result<(), Trouble> {
        self.findings().begin_look();
        let problems = self.store.problems().await?;
        self.findings().set_problems(problems);
        self.look_at_pending(now).await?;
        self.look_at_suspects().await?;
        self.look_at_left_out().await?;
        self.look_at_findings_again().await
    }

    /// Examines every job once, without a pause. `tell` is called with the progress, from 0 to 1.
    pub async fn pass(&self, mut tell: impl FnMut(f64) + Send) -> Result<(), Trouble> {
        self.findings().enabled = true;
        let mut walk = self.begin_walk(Instant::now()).await?;
        while self.walk_on_a_piece(&mut walk).await? {
            tell(walk.progress());
        }
        self.end_walk(&walk, Instant::now());
        Ok(())
    }

    fn findings(&self) -> MutexGuard<'_, Findings> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn look_on(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            let looked = self.look(Instant::now()).await;
            self.findings().note_trouble(Task::Look, looked.err());
            pause(self.settings.look_every, &mut stop).await;
        }
    }
}

impl Inspection for Inspector {
    fn report(&self) -> Report {
        let mut report = self.findings().report();
        let outage = self.store.outage();
        report.failure = self.failure();
        report.outage = outage.as_ref().and_then(|trouble| trouble.outage()).map(str::to_owned);
        let (findings, totals) = self.status.as_ref().map(RunnerStatus::clock_findings).unwrap_or_default();
        for count in &mut report.counts {
            count.open += findings.iter().filter(|finding| finding.kind == count.kind).count() as u64;
            count.total += totals.get(&count.kind).copied().unwrap_or(0);
        }
        report.findings.splice(0..0, findings);
        report
    }

    fn failure(&self) -> Option<String> {
        self.supervisor.failure().map(|failure| failure.to_string())
    }

    fn suspect(&self, subject: Subject) {
        self.findings().suspect(subject);
    }
}

impl Inspecting {
    /// Stops. A read under way is finished, unless it takes long.
    pub async fn stop(self) {
        self.tasks.stop(STOP_TIME_MAX).await;
    }
}

/// Pending for some time, or until it is told to stop.
async fn pause(time: Duration, stop: &mut watch::Receiver<bool>) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        // A change that was seen before is not reported again.
        _ = stop.wait_for(|stopped| *stopped) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_short_for_whoever_knows_already_that_it_is_to_stop() {
        let (stop, mut stopped) = watch::channel(false);
        stop.send_replace(true);
        assert!(stopped.changed().await.is_ok());
        let began = tokio::time::Instant::now();
        pause(Duration::from_secs(3_600), &mut stopped).await;
        assert!(began.elapsed() < Duration::from_secs(1));
    }
}
