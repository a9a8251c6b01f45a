//! What all tasks of a runner share, and how they use the machine.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use punctual_model::{Clock, RandomSource};
use punctual_store::{NodeStanding, Store};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::clock_findings::ClockFindings;
use crate::hold::DroppedClaims;
use crate::machine::{Machine, Wakes};
use crate::{Dispatcher, Observer, Settings};

/// What all tasks of a runner share.
pub(crate) struct RunnerContext {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) dispatcher: Arc<dyn Dispatcher>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn RandomSource>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) settings: Settings,
    pub(crate) dropped_claims: Arc<DroppedClaims>,
    pub(crate) signals: Signals,
    pub(crate) clock_findings: ClockFindings,
    standing: watch::Receiver<NodeStanding>,
    machine: Mutex<Machine>,
    /// When it was started, in real time; otherwise the driver of its steps tells the uptime.
    started_at: OnceLock<Instant>,
    told_uptime: AtomicU64,
}

impl RunnerContext {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        dispatcher: Arc<dyn Dispatcher>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn RandomSource>,
        observer: Arc<dyn Observer>,
        settings: Settings,
    ) -> Self {
        let standing = store.standing();
        let mut machine = Machine::new(Arc::clone(&clock), Arc::clone(&observer), settings.clone());
        machine.set_standing(*standing.borrow(), Duration::ZERO);
        Self {
            store,
            dispatcher,
            clock,
            random,
            observer,
            settings,
            dropped_claims: Arc::clone(machine.dropped_claims()),
            signals: Signals::default(),
            clock_findings: ClockFindings::default(),
            standing,
            machine: Mutex::new(machine),
            started_at: OnceLock::new(),
            told_uptime: AtomicU64::new(0),
        }
    }

    /// Where the node stands.
    pub(crate) fn standing(&self) -> NodeStanding {
        *self.standing.borrow()
    }

    /// The same, to wait for changes.
    pub(crate) fn standings(&self) -> watch::Receiver<NodeStanding> {
        self.standing.clone()
    }

    /// From now on the uptime is real time.
    pub(crate) fn start_clock(&self) {
        let _ = self.started_at.set(Instant::now());
    }

    /// The uptime.
    pub(crate) fn uptime(&self) -> Duration {
        match self.started_at.get() {
            Some(started_at) => started_at.elapsed(),
            None => Duration::from_nanos(self.told_uptime.load(Ordering::Relaxed)),
        }
    }

    /// Sets the uptime, if it is not real time.
    pub(crate) fn tell_uptime(&self, uptime: Duration) {
        self.told_uptime.store(u64::try_from(uptime.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// A panic with the lock held ends its task, which is noticed; until then the others go on.
    pub(crate) fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the machine with the uptime, then wakes the lanes that have something to do.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Machine, Duration) -> T) -> T {
        let uptime = self.uptime();
        let mut machine = self.machine();
        let answer = work(&mut machine, uptime);
        let wakes = machine.take_wakes();
        drop(machine);
        self.signals.wake(wakes);
        answer
    }
}

/// Wakes lanes.
#[derive(Default)]
pub(crate) struct Signals {
    pub(crate) claimer: Signal,
    pub(crate) launcher: Signal,
    pub(crate) recorder: Signal,
    pub(crate) timer: Signal,
    /// Wakes the thread of the timer, which waits with the lock of the machine.
    pub(crate) timer_thread: Condvar,
}

impl Signals {
    pub(crate) fn wake(&self, wakes: Wakes) {
        let Wakes { claimer, timer, launcher, recorder } = wakes;
        if claimer {
            self.claimer.wake();
        }
        if launcher {
            self.launcher.wake();
        }
        if recorder {
            self.recorder.wake();
        }
        if timer {
            self.timer.wake();
            self.timer_thread.notify_one();
        }
    }
}

/// Wakes a waiter, now or later; several wakes before a wait count as one.
#[derive(Default)]
pub(crate) struct Signal {
    told: AtomicBool,
    notify: Notify,
}

impl Signal {
    fn wake(&self) {
        self.told.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    /// Waits for it.
    pub(crate) async fn wait(&self) {
        self.notify.notified().await;
        self.told.store(false, Ordering::Release);
    }

    /// Whether it was woken since the last call.
    pub(crate) fn take(&self) -> bool {
        self.told.swap(false, Ordering::AcqRel)
    }
}
