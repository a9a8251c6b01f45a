//! Walking the real time line.
//!
//! Between two changes of the clocks wall time runs in parallel with real time. So the search goes
//! from one such stretch to the next, and leaps within each.

use super::days::Days;
use super::wall::next_time;
use super::{Anchor, months_of};
use crate::CheckedRule;
use crate::calendar::{DAY_SECONDS, date_of, day_number};
use crate::check::Choice;
use crate::zone::{OFFSET_SECONDS_MAX, QUIET_SECONDS, SETTLED_FROM, Zone};

const ALL_HOURS: u32 = 0xff_ffff;
const ALL_MINUTES: u64 = (1 << 60) - 1;

/// The end of the year 9999, in seconds.
const SECOND_MAX: i64 = 253_402_300_799;

/// Days with minutes but without hours: every hour of those days.
#[derive(Clone, Debug)]
pub(super) struct WholeHours {
    days: Days,
    zone: Zone,
    minutes: u64,
}

impl WholeHours {
    pub(super) fn new(rule: &CheckedRule, choice: &Choice, anchor: &Anchor, minutes: u64) -> Self {
        Self { days: Days::new(rule, choice, anchor), zone: rule.zone.clone(), minutes }
    }

    pub(super) fn at_or_after(&self, from: i64) -> Option<i64> {
        walk(&self.zone, from, |local| {
            let minute = ceil_minute(local);
            let today = minute.div_euclid(1440);
            let day = self.days.at_or_after(today)?;
            let minute_of_day = if day == today { minute.rem_euclid(1440) } else { 0 };
            if let Some(found) = next_time(ALL_HOURS, self.minutes, minute_of_day) {
                return Some(day * DAY_SECONDS + found * 60);
            }
            let day = self.days.at_or_after(day + 1)?;
            Some(day * DAY_SECONDS + i64::from(self.minutes.trailing_zeros()) * 60)
        })
    }
}

/// Goes from stretch to stretch. `next` finds the first chosen wall time at or after one, as if the
/// clocks never changed.
fn walk(zone: &Zone, mut from: i64, next: impl Fn(i64) -> Option<i64>) -> Option<i64> {
    loop {
        let offset = zone.offset_at(from);
        let Some(local) = next(from + offset) else {
            // Clocks set back soon may show a chosen time of today once more.
            from = zone.change_after(from).filter(|change| change - from <= QUIET_SECONDS)?;
            continue;
        };
        let found = local - offset;
        if found - from <= QUIET_SECONDS && zone.offset_at(found) == offset {
            return Some(found);
        }
        match zone.change_after(from) {
            Some(change) if change <= found => {
                // Whatever the clocks will show then, the wall time can't come sooner than this.
                // But a change soon may set the clocks back to a chosen time before `from`.
                let soon = change - from <= QUIET_SECONDS;
                from = if soon { change } else { change.max(local - OFFSET_SECONDS_MAX) };
            }
            Some(_) | None => return Some(found),
        }
    }
}

/// Frequency minute: every interval-th minute from the anchor, where the sets allow it.
#[derive(Clone, Debug)]
pub(super) struct MinuteWalk(GridWalk);

/// Frequency hour: every interval-th block of 60 minutes from the anchor's hour, and in it the minutes
/// that the sets allow.
#[derive(Clone, Debug)]
pub(super) struct HourWalk(GridWalk);

impl MinuteWalk {
    pub(super) fn new(rule: &CheckedRule, choice: &Choice, anchor: &Anchor) -> Self {
        Self(GridWalk {
            zone: rule.zone.clone(),
            base: anchor.second - anchor.second_of_minute,
            step: rule.interval * 60,
            block: 60,
            hours: choice.hours.unwrap_or(ALL_HOURS),
            minutes: choice.minutes.unwrap_or(ALL_MINUTES),
            months: months_of(choice),
            last: last_second(rule),
        })
    }

    pub(super) fn at_or_after(&self, from: i64) -> Option<i64> {
        self.0.at_or_after(from)
    }
}

impl HourWalk {
    pub(super) fn new(rule: &CheckedRule, choice: &Choice, anchor: &Anchor) -> Self {
        let second_of_hour = i64::from(anchor.minute_of_day % 60) * 60 + anchor.second_of_minute;
        Self(GridWalk {
            zone: rule.zone.clone(),
            base: anchor.second - second_of_hour,
            step: rule.interval * 3_600,
            block: 3_600,
            hours: choice.hours.unwrap_or(ALL_HOURS),
            minutes: choice.minutes.unwrap_or(1 << (anchor.minute_of_day % 60)),
            months: months_of(choice),
            last: last_second(rule),
        })
    }

    pub(super) fn at_or_after(&self, from: i64) -> Option<i64> {
        self.0.at_or_after(from)
    }
}

fn last_second(rule: &CheckedRule) -> i64 {
    rule.end_at.map_or(SECOND_MAX, |end_at| super::floor_second(end_at).min(SECOND_MAX))
}

/// Blocks of real time on a grid, and in them the whole minutes whose wall time is in the sets.
#[derive(Clone, Debug)]
struct GridWalk {
    zone: Zone,
    /// The begin of the first block.
    base: i64,
    /// From the begin of a block to that of the next, in seconds.
    step: i64,
    /// The length of a block, in seconds.
    block: i64,
    hours: u32,
    minutes: u64,
    months: u16,
    last: i64,
}

/// So many leaps in one stretch without a hit are suspicious: then it is worth asking whether a hit is
/// possible at all.
const LEAPS_BEFORE_DOUBT: u32 = 32;

/// So many stretches in which no hit is possible, once the zones repeat themselves, prove that none
/// will ever come: two offsets alternate from there on.
const BARREN_STRETCHES_MAX: u32 = 4;

impl GridWalk {
    fn at_or_after(&self, from: i64) -> Option<i64> {
        let mut from = from.max(self.base);
        let mut barren_count = 0;
        while from <= self.last {
            match self.search_stretch(from) {
                Stretch::Found(found) => return Some(found).filter(|&found| found <= self.last),
                Stretch::Barren => {
                    // Without a change of the clocks ahead nothing can become possible.
                    let change = self.zone.change_after(from)?;
                    barren_count = if from > SETTLED_FROM { barren_count + 1 } else { 0 };
                    if barren_count > BARREN_STRETCHES_MAX {
                        return None;
                    }
                    from = change;
                }
                // The months see to it that nothing can be here; that proves nothing either way.
                Stretch::Closed(change) => from = change,
                Stretch::Ended(change) => {
                    barren_count = 0;
                    from = change;
                }
            }
        }
        None
    }

    /// Looks for a hit between an instant and the next change of the clocks.
    fn search_stretch(&self, from: i64) -> Stretch {
        let offset = self.zone.offset_at(from);
        let mut at = from;
        let mut change = None;
        for leap in 0.. {
            if at > self.last {
                return Stretch::Ended(at);
            }
            if leap == LEAPS_BEFORE_DOUBT && !self.possible(offset) {
                return Stretch::Barren;
            }
            let found = self.allowed_at_or_after(at + offset) - offset;
            if found - from > QUIET_SECONDS || self.zone.offset_at(found) != offset {
                let end = *change.get_or_insert_with(|| self.zone.change_after(from).unwrap_or(i64::MAX));
                if found >= end {
                    return if leap == 0 { Stretch::Closed(end) } else { Stretch::Ended(end) };
                }
            }
            let into_step = (found - self.base).rem_euclid(self.step);
            if into_step < self.block {
                return Stretch::Found(found);
            }
            at = found + (self.step - into_step);
        }
        Stretch::Barren
    }

    /// The first whole minute of wall time at or after one that the sets allow, as if the clocks never
    /// changed. Far in the future where there is none.
    fn allowed_at_or_after(&self, local: i64) -> i64 {
        let mut minute = ceil_minute(local);
        loop {
            let day = minute.div_euclid(1440);
            let (year, month, _) = date_of(day);
            if self.months & (1 << month) == 0 {
                let later = self.months & (u16::MAX << month) & !(1 << month);
                let next = if later == 0 {
                    (year + 1, self.months.trailing_zeros())
                } else {
                    (year, later.trailing_zeros())
                };
                minute = day_number(next.0, u8::try_from(next.1).expect("a month is from 1 to 12"), 1) * 1440;
                continue;
            }
            match next_time(self.hours, self.minutes, minute.rem_euclid(1440)) {
                Some(found) => return (day * 1440 + found) * 60,
                None => minute = (day + 1) * 1440,
            }
        }
    }

    /// Whether any block can meet an allowed time of day while the clocks show this offset. The begins
    /// of blocks repeat their time of day with the greatest common divisor of step and day.
    fn possible(&self, offset: i64) -> bool {
        let period = greatest_common_divisor(self.step, DAY_SECONDS);
        let begin = (self.base + offset).rem_euclid(period);
        (0..1440).any(|minute| {
            let allowed = self.hours & (1 << (minute / 60)) != 0 && self.minutes & (1 << (minute % 60)) != 0;
            allowed && (minute * 60 - begin).rem_euclid(period) < self.block
        })
    }
}

enum Stretch {
    Found(i64),
    /// No hit before this change of the clocks.
    Ended(i64),
    /// No hit before this change of the clocks, because the sets allow no instant before it.
    Closed(i64),
    /// No hit is possible while the clocks show this offset.
    Barren,
}

fn ceil_minute(second: i64) -> i64 {
    second.div_euclid(60) + i64::from(second.rem_euclid(60) != 0)
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
