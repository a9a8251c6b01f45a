//! The inspector: checks in the background that what is stored is sound, and that what is due is done.
//!
//! ```text
//!   every few seconds   look: entries that nobody claims, claims that nobody ends     waits
//!                             what others have met and could not read                 walk
//!   once in an hour     walk: every collection and every job, in small pieces         walk
//!                             └── a suspect is read again in one snapshot ──> book: findings, counts
//! ```
//!
//! - It only reads. Nothing waits for it, it may be stopped or killed at any time, and it keeps nothing that
//!   grows with the number of jobs.
//! - What is judged stands in `punctual_model::inspect`; here is only when, and what is remembered.
//! - Waiting is measured in real time, from when it was first seen: on a virtual clock, after a clock was set,
//!   and after a restart with much in arrears it means the same.
//! - A finding is logged when it appears and when it is gone.

mod book;
mod waits;
mod walk;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use punctual_model::Clock;
use punctual_model::inspect::{Inspection, Report, Subject};
use punctual_store::{Survey, Trouble};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::book::{Book, Task};
use self::waits::Waits;
use crate::load::Load;

/// How the inspector works.
#[derive(Clone, Copy, Debug)]
pub struct InspectorSettings {
    /// How often there is a look at what is due and at what is claimed.
    pub look_every: Duration,
    /// How long something may be due, or a claim be held, in real time. More than an attempt may take.
    pub tolerance: Duration,
    /// In what time all jobs are looked at once; with very many it takes longer.
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

/// Checks what must hold.
pub struct Inspector {
    store: Arc<dyn Survey>,
    clock: Arc<dyn Clock>,
    /// How busy whoever fires is; none where nobody does, and what is due stays.
    load: Option<Load>,
    settings: InspectorSettings,
    book: Mutex<Book>,
    waits: tokio::sync::Mutex<Waits>,
}

/// An inspector that inspects. Dropping it does not stop it; [`stop`](Inspecting::stop) does.
pub struct Inspecting {
    stop: watch::Sender<bool>,
    tasks: [JoinHandle<()>; 2],
}

impl Inspector {
    /// Puts an inspector together. `load` comes from the runner that fires; without it nothing is overdue.
    pub fn new(
        store: Arc<dyn Survey>,
        clock: Arc<dyn Clock>,
        load: Option<Load>,
        settings: InspectorSettings,
    ) -> Self {
        let (book, waits) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { store, clock, load, settings, book, waits }
    }

    /// Starts inspecting, in two tasks of the current runtime.
    pub fn start(self: &Arc<Self>) -> Inspecting {
        let (stop, stopped) = watch::channel(false);
        self.book().enabled = true;
        let look = tokio::spawn(Arc::clone(self).look_on(stopped.clone()));
        let walk = tokio::spawn(Arc::clone(self).walk_on(stopped));
        Inspecting { stop, tasks: [look, walk] }
    }

    /// Looks once at what is due and what is claimed. `now` is real and does not go back.
    pub async fn look(&self, now: Instant) -> Result<(), Trouble> {
        self.book().begin_look();
        let problems = self.store.problems().await?;
        self.book().set_problems(problems);
        self.look_at_waits(now).await?;
        self.look_at_suspects().await?;
        self.look_at_left_out().await?;
        self.look_at_findings_again().await
    }

    /// Looks at every job once, without a pause. `tell` hears how far it has come, from 0 to 1.
    pub async fn pass(&self, mut tell: impl FnMut(f64) + Send) -> Result<(), Trouble> {
        self.book().enabled = true;
        let mut walk = self.begin_walk(Instant::now()).await?;
        while self.walk_on_a_piece(&mut walk).await? {
            tell(walk.progress());
        }
        self.end_walk(&walk, Instant::now());
        Ok(())
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn look_on(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            let looked = self.look(Instant::now()).await;
            self.book().note_trouble(Task::Look, looked.err());
            pause(self.settings.look_every, &mut stop).await;
        }
    }
}

impl Inspection for Inspector {
    fn report(&self) -> Report {
        let mut report = self.book().report();
        let outage = self.store.outage();
        report.outage = outage.as_ref().and_then(|trouble| trouble.outage()).map(str::to_owned);
        let (findings, totals) = self.load.as_ref().map(Load::clock_findings).unwrap_or_default();
        for count in &mut report.counts {
            count.open += findings.iter().filter(|finding| finding.kind == count.kind).count() as u64;
            count.total += totals.get(&count.kind).copied().unwrap_or(0);
        }
        report.findings.splice(0..0, findings);
        report
    }

    fn suspect(&self, subject: Subject) {
        self.book().suspect(subject);
    }
}

impl Inspecting {
    /// Stops. What is being read is read to its end, which is a few milliseconds.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        for task in self.tasks {
            let _ = task.await;
        }
    }
}

/// Waits for some time, or until it is to stop.
async fn pause(time: Duration, stop: &mut watch::Receiver<bool>) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        // Whoever was told before is not told of a change again.
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
