//! Claims that are held until they are due.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::Machine;
use crate::hold::Held;

/// The held claims, by due time, then in the order of arrival.
#[derive(Default)]
pub(super) struct TimerQueue(BTreeMap<Timestamp, Vec<Held>>);

impl TimerQueue {
    fn first(&self) -> Option<Timestamp> {
        self.0.first_key_value().map(|(due_at, _)| *due_at)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Gives back what is due after an instant.
    pub(super) fn give_back_after(&mut self, far: Timestamp) {
        if self.0.last_key_value().is_some_and(|(due_at, _)| *due_at > far) {
            drop(self.0.split_off(&far));
        }
    }
}

impl Machine {
    /// Holds a claim until it is due.
    pub(super) fn hold(&mut self, held: Held) {
        let due_at = held.claim.job.progress.entry.map_or(Timestamp::MIN, |entry| entry.due_at);
        self.wakes.timer |= self.waiting.first().is_none_or(|first| due_at < first);
        self.waiting.0.entry(due_at).or_default().push(held);
    }

    /// Passes due claims to the launcher, and returns when the next is due. Always compares with the clock, so
    /// that a clock that is set back makes nothing early.
    pub(crate) fn timer(&mut self) -> Option<Timestamp> {
        let now = self.clock.now();
        while let Some(first) = self.waiting.0.first_entry() {
            if *first.key() > now {
                break;
            }
            let mut due = first.remove();
            // The patience of the clock starts again.
            due.iter_mut().for_each(|held| Self::pause_clock(self.clock.as_ref(), held));
            self.due(due);
        }
        self.waiting.first()
    }
}
