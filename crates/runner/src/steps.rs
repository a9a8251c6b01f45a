//! A runner whose steps are taken one by one, for tests and simulations, which drive the clock.
//!
//! The steps are those of the running server: the same machine, the same lanes, the same calls to the store.
//! Only which lane goes next, and the uptime, are decided by the driver. As in the running server, a resting
//! lane goes on when its time has come or when it is woken, and not before.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use jiff::Timestamp;
use punctual_store::{NodeStanding, Trouble};
use tokio::sync::watch;

use crate::context::RunnerContext;
use crate::hold::Held;
use crate::lane::Next;
use crate::launcher::{self, Launch};
use crate::machine::Machine;
use crate::runner::Runner;
use crate::supervisor::{Failure, Supervisor};
use crate::{attempt, claimer, recorder, timer};

/// The most time that passes at once in pauses: to combine wake-ups, or because the store failed.
const PAUSES_MAX: Duration = Duration::from_secs(10);

/// What some steps did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Entries claimed.
    pub claimed_count: u64,
    /// Attempts made and recorded.
    pub settled_count: u64,
}

/// A lane of a runner, which runs concurrently with the others. There may be many attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    Claimer,
    Timer,
    Launcher,
    Attempt,
    Recorder,
}

impl Lane {
    fn name(self) -> &'static str {
        match self {
            Self::Claimer => claimer::NAME,
            Self::Timer => timer::NAME,
            Self::Launcher => launcher::NAME,
            Self::Attempt => "attempts",
            Self::Recorder => recorder::NAME,
        }
    }
}

/// The default order of lanes that have something to do.
const ORDER: [Lane; 5] = [Lane::Claimer, Lane::Timer, Lane::Launcher, Lane::Attempt, Lane::Recorder];

/// The steps of a runner.
pub struct Steps {
    context: Arc<RunnerContext>,
    changes: watch::Receiver<u64>,
    standings: watch::Receiver<NodeStanding>,
    uptime: Duration,
    claimer: Next,
    recorder: Next,
    launcher_rests: bool,
    next_due: Option<Timestamp>,
    going: Vec<Held>,
    supervisor: Supervisor,
    /// Lanes that panicked: as in the running server, they do nothing more until it stops.
    failed: Vec<Lane>,
    stopping: bool,
}

impl Runner {
    /// Its steps, to be taken by the caller instead of being started. Call it at most once, and before anything
    /// is due.
    pub fn steps(&self) -> Steps {
        let context = Arc::clone(&self.context);
        let mut changes = context.store.changes();
        changes.mark_unchanged();
        Steps {
            uptime: context.uptime(),
            standings: context.standings(),
            context,
            changes,
            claimer: Next::Again,
            recorder: Next::Again,
            launcher_rests: true,
            next_due: None,
            going: Vec::new(),
            supervisor: self.supervisor.clone(),
            failed: Vec::new(),
            stopping: false,
        }
    }

    /// Begins to stop: it gives back what it holds, and claims nothing more. The driver takes the remaining
    /// steps.
    pub fn begin_stop(&self) {
        self.context.with(|machine, _| machine.stop());
    }

    /// Deletes what is too old, once; returns whether there may be more.
    pub async fn keep_house(&self) -> Result<bool, Trouble> {
        crate::housekeeping::clean(&self.context).await
    }
}

impl Steps {
    /// Which lane has ended though it was to go on, if one has. Whoever takes the steps stops the runner then.
    pub fn failure(&self) -> Option<Failure> {
        self.supervisor.failure()
    }

    /// Real time has passed.
    pub fn pass(&mut self, time: Duration) {
        self.uptime += time;
        self.context.tell_uptime(self.uptime);
    }

    /// The agenda is looked at without a wake-up, as a running server does every second.
    pub fn poll(&mut self) {
        self.claimer = Next::Again;
        self.context.with(Machine::agenda_changed);
    }

    /// Looks at the agenda and takes all possible steps.
    pub async fn tick(&mut self) -> Report {
        self.poll();
        self.run().await
    }

    /// Takes steps until no lane has anything to do at this instant.
    pub async fn run(&mut self) -> Report {
        let before = self.context.machine().tally;
        let until = self.uptime + PAUSES_MAX;
        self.note_stop();
        loop {
            while let Some(lane) = ORDER.into_iter().find(|lane| self.ready(*lane)) {
                let supervisor = self.supervisor.clone();
                if supervisor.guard(lane.name(), self.step(lane)).await.is_none() {
                    self.fail(lane);
                }
            }
            let Some(pause) = self.pause().filter(|pause| self.uptime.saturating_add(*pause) <= until) else {
                break;
            };
            self.pass(pause);
        }
        let after = self.context.machine().tally;
        Report {
            claimed_count: after.claimed - before.claimed,
            settled_count: after.settled - before.settled,
        }
    }

    /// When it wants to continue if nothing happens: after some real time, and at an instant of its clock.
    pub fn wants(&self) -> (Option<Duration>, Option<Timestamp>) {
        let rests = [self.claimer, self.recorder].into_iter().filter_map(|next| match next {
            Next::Rest(rest) if rest.until < Duration::MAX => Some(rest.until.saturating_sub(self.uptime)),
            Next::Rest(_) | Next::Again | Next::Done => None,
        });
        (rests.min(), self.next_due)
    }

    /// A lane does nothing more.
    fn fail(&mut self, lane: Lane) {
        self.failed.push(lane);
        match lane {
            Lane::Claimer => self.claimer = Next::Done,
            Lane::Recorder => self.recorder = Next::Done,
            Lane::Timer => self.next_due = None,
            Lane::Launcher => self.launcher_rests = true,
            Lane::Attempt => self.going.clear(),
        }
    }

    /// Once the runner stops, lanes that have failed go on, to give back and to record what is left.
    fn note_stop(&mut self) {
        if self.stopping || !self.context.machine().stopping() {
            return;
        }
        self.stopping = true;
        for lane in self.failed.drain(..) {
            match lane {
                Lane::Claimer => self.claimer = Next::Again,
                Lane::Recorder => self.recorder = Next::Again,
                Lane::Launcher => self.launcher_rests = false,
                Lane::Timer | Lane::Attempt => {}
            }
        }
    }

    /// The pause of some lane, if all rest.
    fn pause(&self) -> Option<Duration> {
        let pauses = [self.claimer, self.recorder].into_iter().filter_map(|next| match next {
            Next::Rest(rest) if !rest.for_due => Some(rest.until.saturating_sub(self.uptime)),
            Next::Rest(_) | Next::Again | Next::Done => None,
        });
        pauses.min()
    }

    /// Whether a lane has something to do: it was woken, or its time has come.
    fn ready(&mut self, lane: Lane) -> bool {
        if self.failed.contains(&lane) {
            return false;
        }
        let signals = &self.context.signals;
        match lane {
            Lane::Claimer => {
                let woken = signals.claimer.take() | self.context.dropped_claims.any();
                if self.standings.has_changed().unwrap_or(false) {
                    claimer::stand(&self.context, &mut self.standings);
                }
                if self.changes.has_changed().unwrap_or(false) {
                    self.changes.mark_unchanged();
                    self.context.with(Machine::agenda_changed);
                }
                woken | self.context.signals.claimer.take() | self.over(self.claimer)
            }
            Lane::Timer => {
                let due = self.next_due.is_some_and(|due_at| due_at <= self.context.clock.now());
                signals.timer.take() | due
            }
            Lane::Launcher => signals.launcher.take() | !self.launcher_rests,
            Lane::Attempt => !self.going.is_empty(),
            Lane::Recorder => signals.recorder.take() | self.over(self.recorder),
        }
    }

    fn over(&self, next: Next) -> bool {
        match next {
            Next::Again => true,
            Next::Rest(rest) => rest.until <= self.uptime,
            Next::Done => false,
        }
    }

    async fn step(&mut self, lane: Lane) {
        match lane {
            Lane::Claimer => self.claimer = claimer::step(&self.context).await,
            Lane::Timer => self.next_due = self.context.with(|machine, _| machine.timer()),
            Lane::Launcher => match launcher::step(&self.context).await {
                Launch::Going(going) => {
                    self.going.extend(going);
                    self.launcher_rests = false;
                }
                Launch::CutOff => {
                    self.going.clear();
                    self.launcher_rests = false;
                }
                Launch::Rest | Launch::Done => self.launcher_rests = true,
            },
            Lane::Attempt => {
                // All at once: what was confirmed is fired without delay. A panic costs one of them.
                let one = |held| AssertUnwindSafe(attempt::one(&self.context, held)).catch_unwind();
                let next = join_all(self.going.drain(..).map(one)).await;
                self.going.extend(next.into_iter().filter_map(Result::ok).flatten());
            }
            Lane::Recorder => self.recorder = recorder::step(&self.context).await,
        }
    }
}
