//! Searches real time.
//!
//! Between two changes of the clocks wall time runs in parallel with real time. So the search goes from one
//! such stretch to the next and leaps within each.

use super::Anchor;
use super::chosen::{Chosen, Walls};
use super::days::NeverReason;
use super::times::{ALL_HOURS, Times};
use crate::CheckedRule;
use crate::check::Choice;
use crate::steps::step;
use crate::zone::{self, OFFSET_SECONDS_MAX, QUIET_SECONDS, Zone};

/// Days with minutes but without hours: every hour of those days.
#[derive(Clone, Debug)]
pub(super) struct WholeHours {
    chosen: Chosen,
    zone: Zone,
}

impl WholeHours {
    pub(super) fn new(rule: &CheckedRule, choice: &Choice, anchor: &Anchor, minutes: u64) -> Self {
        let times = Times::new(ALL_HOURS, minutes);
        Self { chosen: Chosen::new(rule, choice, anchor, times), zone: rule.zone.clone() }
    }

    /// The first occurrence at or after a second. Goes from stretch to stretch and leaps to a wall time that is
    /// far ahead, so a few steps are enough.
    pub(super) fn at_or_after(&self, mut from: i64) -> Option<i64> {
        loop {
            step();
            let offset = self.zone.offset_at(from);
            let Some(wall) = self.chosen.at_or_after(from + offset) else {
                // Clocks that are soon set back may show a chosen time of today once more.
                from = self.zone.change_after(from).filter(|change| change - from <= QUIET_SECONDS)?;
                continue;
            };
            let found = wall - offset;
            if found - from <= QUIET_SECONDS && self.zone.offset_at(found) == offset {
                return Some(found);
            }
            match self.zone.change_after(from) {
                Some(change) if change <= found => {
                    // Whatever the offset will be, the wall time can't come sooner than this. But a change soon
                    // may set the clocks back to a chosen time before `from`.
                    let soon = change - from <= QUIET_SECONDS;
                    from = if soon { change } else { change.max(wall - OFFSET_SECONDS_MAX) };
                }
                Some(_) | None => return Some(found),
            }
        }
    }

    /// Counts the occurrences in `from..until`. Takes a step for each change of the clocks.
    pub(super) fn count(&self, from: i64, until: i64) -> i64 {
        let stretches = self.zone.stretches(from).take_while(|stretch| stretch.from < until);
        let counts = stretches.map(|stretch| {
            let end = stretch.until.min(until);
            self.chosen.count_walls(stretch.from + stretch.offset, end + stretch.offset)
        });
        counts.sum()
    }

    /// A bound of how many there are in a range of so many seconds.
    pub(super) fn most(&self, seconds: u64) -> u64 {
        self.chosen.most_in_days(zone::days_most(seconds))
    }

    /// The occurrences repeat after this many times 400 years.
    pub(super) fn calendars(&self) -> i64 {
        self.chosen.calendars()
    }

    /// Why there is never an occurrence, where that is known without a search.
    pub(super) fn never_reason(&self) -> Option<NeverReason> {
        self.chosen.never_reason()
    }
}
