//! The runner as a whole: starting and stopping.

use std::sync::Arc;
use std::time::Duration;

use punctual_model::{Chain, Clock, RandomSource};
use punctual_store::Store;

use crate::context::RunnerContext;
use crate::supervisor::{Supervisor, Tasks};
use crate::{Dispatcher, Observer, Settings, claimer, clock_watch, housekeeping, launcher, recorder, timer};

/// How long leaving the other nodes may take.
const LEAVE_MAX: Duration = Duration::from_secs(2);

/// Fires what is due.
pub struct Runner {
    pub(crate) context: Arc<RunnerContext>,
    pub(crate) supervisor: Supervisor,
}

/// A running runner. Dropping it does not stop it; [`stop`](Running::stop) does.
pub struct Running {
    context: Arc<RunnerContext>,
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

    fn spawn(self, context: &Arc<RunnerContext>, tasks: &mut Tasks) {
        let context = Arc::clone(context);
        match self {
            Self::Claimer => tasks.spawn(self.name(), claimer::run(context)),
            Self::Launcher => tasks.spawn(self.name(), launcher::run(context)),
            Self::Recorder => tasks.spawn(self.name(), recorder::run(context)),
        }
    }
}

impl Runner {
    /// Builds a runner.
    pub fn new(
        store: Arc<dyn Store>,
        dispatcher: Arc<dyn Dispatcher>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn RandomSource>,
        observer: Arc<dyn Observer>,
        settings: Settings,
    ) -> Self {
        let context = RunnerContext::new(store, dispatcher, clock, random, observer, settings);
        Self { context: Arc::new(context), supervisor: Supervisor::default() }
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
        let Self { context, supervisor } = self;
        context.start_clock();
        let mut tasks = supervisor.tasks();
        let timed = Arc::clone(&context);
        tasks.spawn_thread(timer::NAME, move || timer::run(&timed))?;
        Lane::ALL.iter().for_each(|lane| lane.spawn(&context, &mut tasks));
        let stop = tasks.told_to_stop();
        tasks.spawn("housekeeper", housekeeping::run(Arc::clone(&context), stop.clone()));
        // A clock that nobody can set is not watched.
        if context.clock.watch().is_some() {
            tasks.spawn("clock watcher", clock_watch::run(Arc::clone(&context), stop));
        }
        Ok(Running { context, tasks })
    }
}

impl Running {
    /// Stops: no new claims, held claims are given back, attempts in flight may finish within the grace period,
    /// and finished ones are recorded. Attempts that are in flight after it are aborted unrecorded: they will
    /// be repeated with the same execution tag.
    ///
    /// A lane that has failed goes on for the stop alone, to give back and to record what is left.
    pub async fn stop(self) {
        let Self { context, mut tasks } = self;
        tasks.tell_to_stop();
        let failed: Vec<Lane> = Lane::ALL.into_iter().filter(|lane| tasks.ended(lane.name())).collect();
        context.with(|machine, _| machine.stop());
        failed.iter().for_each(|lane| lane.spawn(&context, &mut tasks));
        let cut_off = tasks.stop(context.settings.grace).await;
        let count = context.machine().under_way();
        if count > 0 {
            tracing::warn!(
                count,
                "stopping with attempts under way: they will be repeated with the same tag"
            );
        } else if !cut_off.is_empty() {
            tracing::warn!(tasks = cut_off.join(", "), "stopping although not all tasks have ended in time");
        }
        match tokio::time::timeout(LEAVE_MAX, context.store.leave()).await {
            Ok(Ok(())) => {}
            Ok(Err(trouble)) => tracing::warn!(error = %Chain(&trouble), "could not leave the other nodes"),
            Err(_) => tracing::warn!("could not leave the other nodes in time; they notice it by themselves"),
        }
    }
}
