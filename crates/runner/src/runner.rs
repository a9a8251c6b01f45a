//! The runner as a whole: starting and stopping.

use std::sync::Arc;
use std::time::Duration;

use punctual_model::{Chain, Clock, Mint};
use punctual_store::Store;

use crate::parts::Parts;
use crate::supervisor::{Supervisor, Tasks};
use crate::{Dispatcher, Observer, Settings, claimer, clock_watch, housekeeping, launcher, recorder, timer};

/// How long leaving the other nodes may take.
const LEAVE_MAX: Duration = Duration::from_secs(2);

/// Fires what is due.
pub struct Runner {
    pub(crate) parts: Arc<Parts>,
    pub(crate) supervisor: Supervisor,
}

/// A running runner. Dropping it does not stop it; [`stop`](Running::stop) does.
pub struct Running {
    parts: Arc<Parts>,
    tasks: Tasks,
}

/// The lanes that are tasks.
#[derive(Clone, Copy)]
enum Lane {
    Claimer,
    Launcher,
    Recorder,
}

impl Lane {
    const ALL: [Self; 3] = [Self::Claimer, Self::Launcher, Self::Recorder];

    fn name(self) -> &'static str {
        match self {
            Self::Claimer => claimer::NAME,
            Self::Launcher => launcher::NAME,
            Self::Recorder => recorder::NAME,
        }
    }

    fn spawn(self, parts: &Arc<Parts>, tasks: &mut Tasks) {
        let parts = Arc::clone(parts);
        match self {
            Self::Claimer => tasks.spawn(self.name(), claimer::run(parts)),
            Self::Launcher => tasks.spawn(self.name(), launcher::run(parts)),
            Self::Recorder => tasks.spawn(self.name(), recorder::run(parts)),
        }
    }
}

impl Runner {
    /// Builds a runner.
    pub fn new(
        store: Arc<dyn Store>,
        dispatcher: Arc<dyn Dispatcher>,
        clock: Arc<dyn Clock>,
        mint: Arc<dyn Mint>,
        observer: Arc<dyn Observer>,
        settings: Settings,
    ) -> Self {
        let parts = Parts::new(store, dispatcher, clock, mint, observer, settings);
        Self { parts: Arc::new(parts), supervisor: Supervisor::default() }
    }

    /// The same, supervised together with other things.
    pub fn supervised(mut self, supervisor: &Supervisor) -> Self {
        self.supervisor = supervisor.clone();
        self
    }

    /// Who knows whether its tasks go on.
    pub fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// Starts firing, in tasks of the current runtime and one thread.
    pub fn start(self) -> std::io::Result<Running> {
        let Self { parts, supervisor } = self;
        parts.start_clock();
        let mut tasks = supervisor.tasks();
        let timed = Arc::clone(&parts);
        tasks.spawn_thread(timer::NAME, move || timer::run(&timed))?;
        Lane::ALL.iter().for_each(|lane| lane.spawn(&parts, &mut tasks));
        let stop = tasks.told_to_stop();
        tasks.spawn("housekeeper", housekeeping::run(Arc::clone(&parts), stop.clone()));
        // A clock that nobody can set is not watched.
        if parts.clock.watch().is_some() {
            tasks.spawn("clock watcher", clock_watch::run(Arc::clone(&parts), stop));
        }
        Ok(Running { parts, tasks })
    }
}

impl Running {
    /// Stops: no new claims, held claims are given back, attempts in flight may finish within the grace period,
    /// and finished ones are recorded. Attempts that are in flight after it are aborted unrecorded: they will
    /// be repeated with the same execution tag.
    ///
    /// A lane that has failed goes on for the stop alone, to give back and to record what is left.
    pub async fn stop(self) {
        let Self { parts, mut tasks } = self;
        tasks.tell_to_stop();
        let failed: Vec<Lane> = Lane::ALL.into_iter().filter(|lane| tasks.ended(lane.name())).collect();
        parts.with(|machine, _| machine.stop());
        failed.iter().for_each(|lane| lane.spawn(&parts, &mut tasks));
        let cut_off = tasks.stop(parts.settings.grace).await;
        let count = parts.machine().under_way();
        if count > 0 {
            tracing::warn!(
                count,
                "stopping with attempts under way: they will be repeated with the same tag"
            );
        } else if !cut_off.is_empty() {
            tracing::warn!(tasks = cut_off.join(", "), "stopping although not all tasks have ended in time");
        }
        match tokio::time::timeout(LEAVE_MAX, parts.store.leave()).await {
            Ok(Ok(())) => {}
            Ok(Err(trouble)) => tracing::warn!(error = %Chain(&trouble), "could not leave the other nodes"),
            Err(_) => tracing::warn!("could not leave the other nodes in time; they notice it by themselves"),
        }
    }
}
