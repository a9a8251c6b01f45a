//! The runner as a state machine: steps come out, their results go in.
//!
//! ```text
//!            claimer               timer              launcher              attempts        recorder
//!   store ──> claim ──> held by due time ──> due ──> turn, begin ──────────> fire ──> settle in batches ──> store
//!     ^                                        └─ parked behind others of its target ─┘           │
//!     └──────────────── release, until the store has taken it <── dropped anywhere ──────────────┘
//! ```
//!
//! It does nothing by itself, waits for nothing and calls nobody: it is told the uptime of the runner, reads
//! the clock that it was given, and does the same for the same calls. Each lane is asked for its next step by
//! its driver: a task or a thread of the running server, or the simulator. When something happens that concerns
//! a resting lane, that lane is in [`Wakes`], and the driver wakes it.

mod begin;
mod claim;
mod record;
mod release;
mod standing;
mod timer;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use punctual_model::{Clock, ClockPause, TICK, decide};
use punctual_store::{Fence, NodeStanding};

use self::begin::Beginning;
use self::claim::Claiming;
use self::record::Recording;
use self::release::Releasing;
use self::timer::TimerQueue;
use crate::hold::{DroppedClaims, Held, Hold};
use crate::slots::{Caps, Slots};
use crate::status::RunnerLoad;
use crate::{Event, Loss, Observer, Settings};

pub(crate) use self::claim::{ClaimerStep, Rest};
pub(crate) use self::record::{Open, RecorderStep};

/// How long to wait after a failure of the store.
const TROUBLE_PAUSE: Duration = Duration::from_millis(200);

/// The state of a runner.
pub(crate) struct Machine {
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    settings: Settings,
    dropped_claims: Arc<DroppedClaims>,
    slots: Slots,
    claiming: Claiming,
    releasing: Releasing,
    waiting: TimerQueue,
    beginning: Beginning,
    recording: Recording,
    /// Pauses of the clock for settled claims, until the claimer has looked at the agenda after them.
    settled: Vec<ClockPause>,
    /// The same for claims that were settled before the claimer began to look.
    seen: Vec<ClockPause>,
    pub(crate) tally: Tally,
    stopping: bool,
    standing: NodeStanding,
    /// What is under way is to be cut off.
    cut_off: bool,
    wakes: Wakes,
}

/// Lanes that have something to do and may be resting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wakes {
    pub(crate) claimer: bool,
    pub(crate) timer: bool,
    pub(crate) launcher: bool,
    pub(crate) recorder: bool,
}

/// Totals since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) claimed: u64,
    pub(crate) settled: u64,
}

/// Who waits for a slot right now.
pub(crate) struct SlotPressure {
    /// There are too few free slots to claim anything.
    pub(crate) full: bool,
    /// Targets without a free slot.
    pub(crate) targets: HashSet<String>,
    /// Due claims that wait for a slot of their target.
    pub(crate) parked: HashSet<Fence>,
}

impl Machine {
    pub(crate) fn new(clock: Arc<dyn Clock>, observer: Arc<dyn Observer>, settings: Settings) -> Self {
        let slots = Slots::new(settings.slots, caps(&settings));
        let recording = Recording::new(clock.speed() > 1.0);
        Self {
            clock,
            observer,
            settings,
            dropped_claims: Arc::default(),
            slots,
            claiming: Claiming::default(),
            releasing: Releasing::default(),
            waiting: TimerQueue::default(),
            beginning: Beginning::default(),
            recording,
            settled: Vec::new(),
            seen: Vec::new(),
            tally: Tally::default(),
            stopping: false,
            standing: NodeStanding::alone(),
            cut_off: false,
            wakes: Wakes::default(),
        }
    }

    /// Where dropped holds go.
    pub(crate) fn dropped_claims(&self) -> &Arc<DroppedClaims> {
        &self.dropped_claims
    }

    /// The lanes to wake; resets them.
    pub(crate) fn take_wakes(&mut self) -> Wakes {
        std::mem::take(&mut self.wakes)
    }

    /// Stops: no new claims, held claims are given back, and attempts in flight are recorded without delay.
    pub(crate) fn stop(&mut self) {
        self.stopping = true;
        self.give_back_unbegun();
        self.wakes = Wakes { claimer: true, timer: true, launcher: true, recorder: true };
    }

    pub(crate) fn stopping(&self) -> bool {
        self.stopping
    }

    /// The number of attempts in flight.
    pub(crate) fn under_way(&self) -> usize {
        self.slots.under_way()
    }

    pub(crate) fn slot_pressure(&self, uptime: Duration) -> SlotPressure {
        SlotPressure {
            full: self.slots.free() < self.worth_claiming(),
            targets: self.slots.full_targets(uptime).into_iter().collect(),
            parked: self.slots.parked(),
        }
    }

    /// How busy it is. Walks over the claims that are due and wait, of which there are not many more than slots.
    pub(crate) fn load(&self) -> RunnerLoad {
        let waiting = self.slots.parked_claims().chain(self.beginning.waiting());
        let due_at = |held: &Held| held.claim.job.progress.entry.map(|entry| entry.due_at);
        let (mut waiting_count, mut oldest_due_at) = (0, None);
        for held in waiting {
            waiting_count += 1;
            oldest_due_at = [oldest_due_at, due_at(held)].into_iter().flatten().min();
        }
        RunnerLoad {
            slot_count_max: self.settings.slots,
            claim_count: self.slots.taken(),
            parked_count: self.slots.parked_claims().count(),
            in_flight_count: self.slots.under_way(),
            unrecorded_count: self.unrecorded(),
            waiting_count,
            oldest_due_at,
        }
    }

    /// A claim has ended: its slot is free.
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
            let next = self.slots.leave(&hold, uptime);
            self.go_all(next);
        }
        let wait = hold.end();
        self.keep_clock_pause(wait, uptime);
        self.free_slot(uptime);
    }

    /// Claims that have their slots now.
    fn go_all(&mut self, next: Vec<Held>) {
        for held in next {
            self.go(held);
        }
    }

    fn free_slot(&mut self, uptime: Duration) {
        self.slots.free_one();
        self.slot_was_freed(uptime);
        // It may have waited for the last one.
        self.wakes.recorder |= self.stopping;
    }

    /// Keeps a pause of the clock until the claimer has looked at the agenda after its claim.
    fn keep_clock_pause(&mut self, wait: Option<ClockPause>, uptime: Duration) {
        if wait.is_some() {
            self.settled.extend(wait);
            self.claim_at_once(uptime);
        }
    }

    /// Makes a fast clock wait before the next occurrence of a claimed job, from the claim until it is settled
    /// and the claimer has seen the result. So a month in a minute has the occurrences of a month, however long
    /// a request takes. Costs nothing on a clock that does not wait.
    fn pause_clock(clock: &dyn Clock, held: &mut Held) {
        if clock.speed() <= 1.0 {
            return;
        }
        // After the entry and not before now: the clock may be right before that next one already.
        let due_at = held.claim.job.progress.entry.map(|entry| entry.due_at);
        let next = due_at.and_then(|due_at| decide::occurrence_after(&held.claim.job, due_at));
        let before_it = next.and_then(|next| next.checked_sub(TICK).ok());
        held.hold.set_clock_pause(before_it.and_then(|at| clock.pause_at(at)));
    }
}

/// The most attempts under way at a target and of a collection.
fn caps(settings: &Settings) -> Caps {
    Caps { per_target: settings.slots_per_target, per_collection: settings.slots_per_collection }
}

/// How a claim ends that is not given back.
#[derive(Clone, Copy)]
enum Ending {
    Settled,
    Lost(Loss),
}
