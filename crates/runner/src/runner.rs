//! The runner as a whole: starting and stopping.

use std::sync::Arc;
use std::time::Duration;

use punctual_model::{Chain, Clock, Mint};
use punctual_store::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::parts::Parts;
use crate::{Dispatcher, Observer, Settings, claimer, clock_watch, housekeeping, launcher, recorder, timer};

/// How long leaving the other nodes may take.
const LEAVE_MAX: Duration = Duration::from_secs(2);

/// Fires what is due.
pub struct Runner {
    pub(crate) parts: Arc<Parts>,
}

/// A running runner. Dropping it does not stop it; [`stop`](Running::stop) does.
pub struct Running {
    parts: Arc<Parts>,
    stop: watch::Sender<bool>,
    timer: std::thread::JoinHandle<()>,
    claimer: JoinHandle<()>,
    launcher: JoinHandle<()>,
    recorder: JoinHandle<()>,
    housekeeper: JoinHandle<()>,
    clock_watcher: JoinHandle<()>,
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
        Self { parts: Arc::new(Parts::new(store, dispatcher, clock, mint, observer, settings)) }
    }

    /// Starts firing, in tasks of the current runtime and one thread.
    pub fn start(self) -> std::io::Result<Running> {
        let parts = self.parts;
        parts.start_clock();
        let timer = timer::start(Arc::clone(&parts))?;
        let (stop, stopped) = watch::channel(false);
        let claimer = tokio::spawn(claimer::run(Arc::clone(&parts)));
        let launcher = tokio::spawn(launcher::run(Arc::clone(&parts)));
        let recorder = tokio::spawn(recorder::run(Arc::clone(&parts)));
        let housekeeper = tokio::spawn(housekeeping::run(Arc::clone(&parts), stopped.clone()));
        let clock_watcher = tokio::spawn(clock_watch::run(Arc::clone(&parts), stopped));
        Ok(Running { parts, stop, timer, claimer, launcher, recorder, housekeeper, clock_watcher })
    }
}

impl Running {
    /// Stops: no new claims, held claims are given back, attempts in flight may finish within the grace period,
    /// and finished ones are recorded. Attempts that are in flight after it are aborted unrecorded: they will
    /// be repeated with the same execution tag.
    pub async fn stop(self) {
        let Self { parts, stop, timer, claimer, launcher, recorder, housekeeper, clock_watcher } = self;
        stop.send_replace(true);
        parts.with(|machine, _| machine.stop());
        let tasks = [&claimer, &launcher, &recorder, &housekeeper, &clock_watcher];
        let aborts = tasks.map(JoinHandle::abort_handle);
        // The thread ends by itself now. It is waited for because it has the store: a process that ends before the
        // thread does would leave the store unclosed.
        let timer = tokio::task::spawn_blocking(move || timer.join());
        let finish = async {
            let _ = tokio::join!(timer, claimer, launcher, recorder, housekeeper, clock_watcher);
        };
        if tokio::time::timeout(parts.settings.grace, finish).await.is_err() {
            let count = parts.machine().under_way();
            tracing::warn!(
                count,
                "stopping with attempts under way: they will be repeated with the same tag"
            );
            aborts.iter().for_each(tokio::task::AbortHandle::abort);
        }
        match tokio::time::timeout(LEAVE_MAX, parts.store.leave()).await {
            Ok(Ok(())) => {}
            Ok(Err(trouble)) => tracing::warn!(error = %Chain(&trouble), "could not leave the other nodes"),
            Err(_) => tracing::warn!("could not leave the other nodes in time; they notice it by themselves"),
        }
    }
}
