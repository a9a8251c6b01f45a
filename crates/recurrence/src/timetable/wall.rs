//! Chosen wall times on chosen days, as the clocks of a zone show them.

use super::Anchor;
use super::chosen::{Chosen, Walls};
use super::days::NeverReason;
use super::times::Times;
use crate::CheckedRule;
use crate::calendar::DAY_SECONDS;
use crate::check::Choice;
use crate::zone::{OFFSET_SECONDS_MAX, QUIET_SECONDS, Zone};

/// Wall times on chosen days. A wall time that occurs twice is taken once, the first; one that does
/// not exist moves forward by the length of the gap; two that coincide are one.
#[derive(Clone, Debug)]
pub(super) struct WallTimes {
    chosen: Chosen,
    zone: Zone,
}

impl WallTimes {
    pub(super) fn new(rule: &CheckedRule, choice: &Choice, anchor: &Anchor, times: Times) -> Self {
        Self { chosen: Chosen::new(rule, choice, anchor, times), zone: rule.zone.clone() }
    }

    /// The first occurrence at or after a second.
    pub(super) fn at_or_after(&self, from: i64) -> Option<i64> {
        let offset = self.zone.offset_at(from);
        let wall = self.chosen.at_or_after(from + offset);
        if matches!(self.zone, Zone::Utc) {
            return wall;
        }
        // Wall time and real time run in parallel between `from` and the wall time found, and no gap
        // shortly before `from` can have moved an earlier wall time behind it.
        if self.zone.offset_at(from - QUIET_SECONDS) == offset {
            let found = self.zone.resolve(wall?);
            if found.plain_offset == Some(offset) {
                return Some(found.at);
            }
        }
        self.search_near_change(from)
    }

    /// Near a change of the clocks instants and wall times are not in the same order: a wall time in a gap
    /// moves past some that follow it. So each stretch is searched for both, and the earlier is taken.
    fn search_near_change(&self, from: i64) -> Option<i64> {
        let stretches = self.zone.stretches(from - QUIET_SECONDS);
        for stretch in stretches.skip_while(|stretch| stretch.until <= from) {
            let begin = stretch.from.max(from);
            let moved = self.chosen.at_or_after(begin + stretch.offset_before);
            let moved = moved.filter(|&wall| wall < stretch.from + stretch.offset);
            let moved = moved.map(|wall| wall - stretch.offset_before);
            let wall = self.chosen.at_or_after((begin + stretch.offset).max(stretch.first_new_wall()));
            let plain = wall.map(|wall| wall - stretch.offset).filter(|&at| at < stretch.until);
            if let Some(found) = moved.into_iter().chain(plain).min() {
                return Some(found);
            }
            // Whatever the offset will be, the wall time can't come sooner than this.
            let soonest = wall? - OFFSET_SECONDS_MAX;
            if soonest > stretch.until {
                return self.at_or_after(soonest);
            }
        }
        None
    }

    /// Counts the occurrences in `from..until`.
    pub(super) fn count(&self, from: i64, until: i64) -> i64 {
        count_resolved(&self.zone, &self.chosen, from, until)
    }

    /// A bound of how many there are in a range of so many seconds. A change of the clocks moves a wall time by up to
    /// a day, and the days at both ends are not whole.
    pub(super) fn most(&self, seconds: u64) -> u64 {
        self.chosen.most_in_days(seconds / DAY_SECONDS.unsigned_abs() + 4)
    }

    /// Whether a wall time is chosen, whether or not it exists.
    pub(super) fn chooses(&self, local: i64) -> bool {
        self.chosen.at_or_after(local) == Some(local)
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

/// Counts the instants in `from..until` that wall times resolve to: one that the clocks show twice counts once,
/// one that they skip counts where it moves to, and two that resolve to the same instant count once. Takes a
/// step for each change of the clocks.
pub(super) fn count_resolved(zone: &Zone, walls: &impl Walls, from: i64, until: i64) -> i64 {
    let stretches = zone.stretches(from - QUIET_SECONDS).take_while(|stretch| stretch.from < until);
    let counts = stretches.filter(|stretch| stretch.until > from).map(|stretch| {
        let (begin, end) = (stretch.from.max(from), stretch.until.min(until));
        let first = (begin + stretch.offset).max(stretch.first_new_wall());
        let plain = walls.count_walls(first, end + stretch.offset);
        let gap = stretch.offset - stretch.offset_before;
        if gap <= 0 {
            return plain;
        }
        let first = begin + stretch.offset_before;
        let last = (end + stretch.offset_before).min(stretch.from + stretch.offset);
        plain + walls.count_walls(first, last) - walls.count_followed(first, last, gap)
    });
    counts.sum()
}
