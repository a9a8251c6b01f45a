//! Due claims: each waits for a slot of its target, and is confirmed right before it is fired.
//!
//! Only one call to the store is in flight, and the next batch is collected meanwhile: with a distant store, a
//! herd on one target would otherwise need a call for each firing.

use std::collections::VecDeque;
use std::time::Duration;

use punctual_model::Chain;
use punctual_store::Trouble;

use super::{Ending, Machine};
use crate::attempt::Fired;
use crate::hold::Held;
use crate::{Event, Loss};

/// How many of a herd are started before the rest is examined: the first should not wait for the last.
const STARTED_FIRST: usize = 64;

/// How many are started at once after that.
const STARTED_NEXT: usize = 1_024;

/// Claims to confirm.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) held: Vec<Held>,
    /// There are more to examine right now.
    pub(crate) more: bool,
}

/// Claims that are due and not begun.
#[derive(Default)]
pub(super) struct Beginning {
    /// As they came from the timer, in batches.
    due: VecDeque<VecDeque<Held>>,
    /// Claims that have a slot of their target.
    turned: Vec<Held>,
    /// A call to the store is in flight.
    out: bool,
    /// Some of the first batch were started.
    underway: bool,
}

impl Beginning {
    pub(super) fn clear(&mut self) {
        self.due.clear();
        self.turned.clear();
    }

    /// Claims that are due and have not begun, besides those that are parked.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Held> {
        self.due.iter().flatten().chain(&self.turned)
    }

    fn is_empty(&self) -> bool {
        self.due.is_empty() && self.turned.is_empty()
    }
}

impl Machine {
    /// Takes due claims from the timer.
    pub(super) fn due(&mut self, due: Vec<Held>) {
        self.beginning.due.push_back(due.into());
        self.wakes.launcher = true;
    }

    /// Adds a claim that has a slot to the next batch.
    pub(super) fn go(&mut self, held: Held) {
        if self.stopping {
            // Dropping it gives it back.
            return;
        }
        self.beginning.turned.push(held);
        self.wakes.launcher = true;
    }

    /// The claims to confirm now; none while a call is in flight. They must come back through
    /// [`begun`](Self::begun).
    pub(crate) fn begin(&mut self, uptime: Duration) -> Batch {
        if self.beginning.out {
            return Batch::default();
        }
        let mut held = std::mem::take(&mut self.beginning.turned);
        let most = if self.beginning.underway { STARTED_NEXT } else { STARTED_FIRST };
        for _ in 0..most {
            while self.beginning.due.front().is_some_and(VecDeque::is_empty) {
                self.beginning.due.pop_front();
            }
            let Some(next) = self.beginning.due.front_mut().and_then(VecDeque::pop_front) else { break };
            held.extend(self.slots.turn(next, uptime));
        }
        let more = self.beginning.due.iter().any(|due| !due.is_empty());
        self.beginning.underway = more;
        self.beginning.out = !held.is_empty();
        Batch { held, more }
    }

    /// Whether nothing is left to begin, and nothing will come.
    pub(crate) fn all_begun(&self) -> bool {
        self.stopping && self.beginning.is_empty() && !self.beginning.out
    }

    /// An attempt has ended. If another claim waits for its target, returns it to be confirmed by the same
    /// task, since its connection is open; unless a call is in flight.
    pub(crate) fn attempted(&mut self, mut fired: Fired, uptime: Duration) -> Option<Held> {
        let next = if fired.hold.come_back() { self.slots.leave(&fired.hold, uptime) } else { Vec::new() };
        self.record(fired);
        let mut next = next.into_iter();
        // The first is for the same target.
        let first = next.next();
        self.go_all(next.collect());
        let next = first.filter(|_| !self.stopping)?;
        if self.beginning.out || !self.beginning.is_empty() {
            self.go(next);
            return None;
        }
        self.beginning.out = true;
        Some(next)
    }

    /// The store has answered: returns the claims to fire. A claim that does not hold any more leaves its slot
    /// to the next of its target.
    pub(crate) fn begun(
        &mut self,
        batch: Vec<Held>,
        answer: Result<Vec<bool>, Trouble>,
        uptime: Duration,
    ) -> Vec<Held> {
        self.beginning.out = false;
        let going = match answer {
            Err(trouble) => {
                if trouble.outage().is_none() {
                    tracing::error!(error = %Chain(&trouble), "could not confirm claims; giving them back");
                }
                drop(batch);
                self.take_dropped(uptime);
                self.pause_claiming(uptime);
                self.wakes.claimer = true;
                Vec::new()
            }
            Ok(holds) => {
                let mut going = Vec::with_capacity(batch.len());
                let mut holds = holds.into_iter();
                for held in batch {
                    if holds.next() == Some(true) {
                        self.observer.hear(&Event::Begun(&held.claim));
                        going.push(held);
                    } else {
                        self.end(held.hold, Ending::Lost(Loss::TakenBack), uptime);
                    }
                }
                going
            }
        };
        self.wakes.launcher |= !self.beginning.is_empty();
        going
    }
}
