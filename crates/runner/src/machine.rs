//! The runner as a state machine: what is asked for comes out as steps, what became of it goes in again.
//!
//! ```text
//!            claimer               timer              launcher              attempts        recorder
//!   store ──> claim ──> held by due time ──> due ──> turn, begin ──────────> fire ──> settle in batches ──> store
//!     ^                                        └─ parked behind others of its target ─┘           │
//!     └──────────────── release, until the store has taken it <── dropped anywhere ──────────────┘
//! ```
//!
//! It does nothing by itself, waits for nothing and asks nobody: it is told how long the runner has been up, looks
//! at the clock that it was given, and is the same for the same calls. Each lane is asked for its next step by
//! whoever drives it: by a task or a thread of the running server, or by the simulator. When something
//! happens that concerns a lane that rests, that lane is in [`Wakes`]; who drives the machine wakes it.

mod begin;
mod claim;
mod record;
mod release;
mod standing;
mod timer;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use punctual_model::{Clock, TICK, Wait, decide};
use punctual_store::{Fence, Standing};

use self::begin::Beginning;
use self::claim::Claiming;
use self::record::Recording;
use self::release::Releasing;
use self::timer::Waiting;
use crate::hold::{Held, Hold, Returns};
use crate::slots::Slots;
use crate::{Event, Loss, Observer, Settings};

pub(crate) use self::claim::{ClaimerStep, Rest};
pub(crate) use self::record::{Open, RecorderStep};

/// How long to wait when the store is in trouble.
const TROUBLE_PAUSE: Duration = Duration::from_millis(200);

/// The state of a runner.
pub(crate) struct Machine {
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    settings: Settings,
    returns: Arc<Returns>,
    slots: Slots,
    claiming: Claiming,
    releasing: Releasing,
    waiting: Waiting,
    beginning: Beginning,
    recording: Recording,
    /// The clock waits for what was settled until the claimer has looked what came of it.
    settled: Vec<Wait>,
    /// The same of what was settled before the claimer began to look.
    seen: Vec<Wait>,
    pub(crate) tally: Tally,
    stopping: bool,
    standing: Standing,
    /// What is under way is to be cut off.
    cut_off: bool,
    wakes: Wakes,
}

/// Lanes that have something to do and may rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wakes {
    pub(crate) claimer: bool,
    pub(crate) timer: bool,
    pub(crate) launcher: bool,
    pub(crate) recorder: bool,
}

/// How much was done since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) claimed: u64,
    pub(crate) settled: u64,
}

/// Who waits for room, right now.
pub(crate) struct Crowd {
    /// There are too few free slots to claim anything.
    pub(crate) full: bool,
    /// Targets whose entries are passed over.
    pub(crate) targets: HashSet<String>,
    /// Claims that are due and wait for their target.
    pub(crate) parked: HashSet<Fence>,
}

impl Machine {
    pub(crate) fn new(clock: Arc<dyn Clock>, observer: Arc<dyn Observer>, settings: Settings) -> Self {
        let slots = Slots::new(settings.slots, settings.slots_per_target);
        let recording = Recording::new(clock.speed() > 1.0);
        Self {
            clock,
            observer,
            settings,
            returns: Arc::default(),
            slots,
            claiming: Claiming::default(),
            releasing: Releasing::default(),
            waiting: Waiting::default(),
            beginning: Beginning::default(),
            recording,
            settled: Vec::new(),
            seen: Vec::new(),
            tally: Tally::default(),
            stopping: false,
            standing: Standing::alone(),
            cut_off: false,
            wakes: Wakes::default(),
        }
    }

    /// Where holds go that are dropped.
    pub(crate) fn returns(&self) -> &Arc<Returns> {
        &self.returns
    }

    /// The lanes to wake, asked once.
    pub(crate) fn take_wakes(&mut self) -> Wakes {
        std::mem::take(&mut self.wakes)
    }

    /// Stops: no new claims, what is held is given back, and what is under way is recorded without delay.
    pub(crate) fn stop(&mut self) {
        self.stopping = true;
        self.give_back_unbegun();
        self.wakes = Wakes { claimer: true, timer: true, launcher: true, recorder: true };
    }

    pub(crate) fn stopping(&self) -> bool {
        self.stopping
    }

    /// How many attempts are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.slots.under_way()
    }

    pub(crate) fn crowd(&self, uptime: Duration) -> Crowd {
        Crowd {
            full: self.slots.free() < self.worth_claiming(),
            targets: self.slots.full_targets(uptime).into_iter().collect(),
            parked: self.slots.parked(),
        }
    }

    /// A claim is over: its slot is free.
    fn end(&mut self, mut hold: Hold, ending: Ending, uptime: Duration) {
        let (fence, job) = (hold.fence, hold.job);
        match ending {
            Ending::Settled => {
                self.tally.settled += 1;
                self.observer.hear(&Event::Settled { fence, job });
            }
            Ending::Lost(loss) => self.observer.hear(&Event::Lost { fence, job, loss }),
        }
        if hold.come_back() {
            self.next_of(&Arc::clone(hold.target()), uptime);
        }
        let wait = hold.end();
        self.settle_wait(wait, uptime);
        self.free_slot(uptime);
    }

    /// An attempt to a target is over: the next one that waits for it may go.
    fn next_of(&mut self, target: &str, uptime: Duration) {
        if let Some(next) = self.slots.leave(target, uptime) {
            self.go(next);
        }
    }

    fn free_slot(&mut self, uptime: Duration) {
        self.slots.free_one();
        self.slot_was_freed(uptime);
        // It may have waited for the last.
        self.wakes.recorder |= self.stopping;
    }

    /// Keeps a wait of the clock until the claimer has looked what came of its claim.
    fn settle_wait(&mut self, wait: Option<Wait>, uptime: Duration) {
        if wait.is_some() {
            self.settled.extend(wait);
            self.claim_at_once(uptime);
        }
    }

    /// Has a fast clock not go past the next occurrence of a claim's job. From the moment that an entry is claimed
    /// until it is settled and the claimer has seen what came of it, so that a month in a minute has the
    /// occurrences of a month, however long a request takes. A clock that waits for nobody costs nothing.
    fn keep_clock_waiting(clock: &dyn Clock, held: &mut Held) {
        if clock.speed() <= 1.0 {
            return;
        }
        // Behind the entry and not behind now: the clock may stand before that next one already.
        let due_at = held.claim.job.progress.entry.map(|entry| entry.due_at);
        let next = due_at.and_then(|due_at| decide::occurrence_after(&held.claim.job, due_at));
        let before_it = next.and_then(|next| next.checked_sub(TICK).ok());
        held.hold.set_wait(before_it.and_then(|at| clock.wait_at(at)));
    }
}

/// How a claim that is not given back ends.
#[derive(Clone, Copy)]
enum Ending {
    Settled,
    Lost(Loss),
}
