//! Chosen times on chosen days as wall times, before a time zone turns them into instants.

use super::Anchor;
use super::days::{Days, NeverReason};
use super::times::Times;
use crate::CheckedRule;
use crate::calendar::{DAY_MINUTES, DAY_SECONDS};
use crate::check::Choice;
use crate::steps::step;

/// Every chosen time of every chosen day. Wall times are in seconds.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    days: Days,
    times: Times,
}

impl Chosen {
    pub(super) fn new(rule: &CheckedRule, choice: &Choice, anchor: &Anchor, times: Times) -> Self {
        Self { days: Days::new(rule, choice, anchor), times }
    }

    /// Why no time is ever chosen, where that is known without a search.
    pub(super) fn never_reason(&self) -> Option<NeverReason> {
        self.days.never_reason()
    }

    /// The same wall times are chosen again after this many times 400 years.
    pub(super) fn calendars(&self) -> i64 {
        self.days.calendars()
    }

    /// A bound of how many wall times are chosen on so many days.
    pub(super) fn most_in_days(&self, days: u64) -> u64 {
        days * self.times.count().unsigned_abs()
    }

    /// The first chosen wall time at or after `wall`.
    pub(super) fn at_or_after(&self, wall: i64) -> Option<i64> {
        let minute = ceil_minute(wall);
        let today = minute.div_euclid(DAY_MINUTES);
        let day = self.days.at_or_after(today)?;
        let minute_of_day = if day == today { minute.rem_euclid(DAY_MINUTES) } else { 0 };
        if let Some(found) = self.times.at_or_after(minute_of_day) {
            return Some(day * DAY_SECONDS + found * 60);
        }
        let day = self.days.at_or_after(day + 1)?;
        self.times.at_or_after(0).map(|found| day * DAY_SECONDS + found * 60)
    }
}

/// Wall times that can be counted.
pub(super) trait Walls {
    /// Counts the wall times in `from..until`.
    fn count_walls(&self, from: i64, until: i64) -> i64;

    /// Counts those wall times in `from..until` that have another one exactly `seconds` (up to a day) later.
    /// The range is at most a few days.
    fn count_followed(&self, from: i64, until: i64, seconds: i64) -> i64;
}

impl Walls for Chosen {
    fn count_walls(&self, from: i64, until: i64) -> i64 {
        let (first, end) = (ceil_minute(from), ceil_minute(until));
        if first >= end {
            return 0;
        }
        let (first_day, end_day) = (first.div_euclid(DAY_MINUTES), end.div_euclid(DAY_MINUTES));
        let before = |minute: i64, day: i64| {
            let chosen = self.days.contains(day);
            if chosen { self.times.count_before(minute.rem_euclid(DAY_MINUTES)) } else { 0 }
        };
        let whole_days = if first_day < end_day { self.days.count(first_day, end_day) } else { 0 };
        whole_days * self.times.count() + before(end, end_day) - before(first, first_day)
    }

    fn count_followed(&self, from: i64, until: i64, seconds: i64) -> i64 {
        let (first, end) = (ceil_minute(from), ceil_minute(until));
        if seconds % 60 != 0 || seconds > DAY_SECONDS {
            return 0;
        }
        let followed = self.times.followed_by_another(seconds / 60);
        let mut count = 0;
        let mut begin = first;
        while begin < end {
            step();
            let day = begin.div_euclid(DAY_MINUTES);
            let midnight = (day + 1) * DAY_MINUTES;
            let (minute, length) = (begin.rem_euclid(DAY_MINUTES), midnight.min(end) - begin);
            let among =
                |sets: [Times; 2]| -> i64 { sets.iter().map(|times| times.count_from(minute, length)).sum() };
            if self.days.contains(day) {
                count += among(followed.same_day);
                if self.days.contains(day + 1) {
                    count += among(followed.next_day);
                }
            }
            begin = midnight;
        }
        count
    }
}

/// The first whole minute at or after a second.
pub(super) fn ceil_minute(second: i64) -> i64 {
    second.div_euclid(60) + i64::from(second.rem_euclid(60) != 0)
}
