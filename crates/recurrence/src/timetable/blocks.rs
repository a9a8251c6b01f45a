//! Frequencies minute and hour with a schedule: blocks of real time on a grid, and in them the minutes that
//! the schedule allows.
//!
//! What comes soon is found by a few leaps from an allowed minute to the next block. Where that finds nothing,
//! and for counting, real time is split into stretches between changes of the clocks, and each stretch is
//! answered by arithmetic ([`Cycle`]).

use super::Anchor;
use super::chosen::ceil_minute;
use super::cycle::{Cycle, greatest_common_divisor};
use super::months::Months;
use super::times::{ALL_HOURS, ALL_MINUTES, Times};
use crate::CheckedRule;
use crate::calendar::{CALENDAR_DAYS, DAY_MINUTES, DAY_SECONDS};
use crate::check::Choice;
use crate::steps::step;
use crate::zone::{self, QUIET_SECONDS, SETTLED_FROM, Stretch, Zone};

/// The end of the year 9999, in seconds.
const SECOND_MAX: i64 = 253_402_300_799;

/// Blocks of real time on a grid, and in them the whole minutes whose wall time is in the sets.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    zone: Zone,
    /// The start of the first block.
    base: i64,
    /// The distance between the starts of two blocks, in seconds.
    step: i64,
    /// The length of a block, in seconds.
    length: i64,
    times: Times,
    months: Months,
    last: i64,
}

/// After this many leaps without a hit arithmetic is faster.
const LEAPS_MAX: u32 = 32;

/// Once a zone has settled, this many stretches without a possible hit prove that there never is one: from
/// there on only two offsets alternate.
const EMPTY_STRETCHES_MAX: u32 = 4;

impl Blocks {
    /// Frequency minute: every interval-th minute from the anchor, where the sets allow it.
    pub(super) fn of_a_minute(rule: &CheckedRule, choice: &Choice, anchor: &Anchor) -> Self {
        let minutes = choice.minutes.unwrap_or(ALL_MINUTES);
        Self::new(rule, choice, anchor.second - anchor.second_of_minute, 60, minutes)
    }

    /// Frequency hour: every interval-th block of 60 minutes from the anchor's hour, and in it the minutes
    /// that the sets allow.
    pub(super) fn of_an_hour(rule: &CheckedRule, choice: &Choice, anchor: &Anchor) -> Self {
        let minute = anchor.minute_of_day % 60;
        let second_of_hour = i64::from(minute) * 60 + anchor.second_of_minute;
        let minutes = choice.minutes.unwrap_or(1 << minute);
        Self::new(rule, choice, anchor.second - second_of_hour, 3_600, minutes)
    }

    fn new(rule: &CheckedRule, choice: &Choice, base: i64, length: i64, minutes: u64) -> Self {
        let last = rule.end_at.map_or(SECOND_MAX, |end_at| super::floor_second(end_at).min(SECOND_MAX));
        Self {
            zone: rule.zone.clone(),
            base,
            step: rule.interval * length,
            length,
            times: Times::new(choice.hours.unwrap_or(ALL_HOURS), minutes),
            months: choice.months.map_or(Months::ALL, Months::new),
            last,
        }
    }

    /// The first occurrence at or after a second.
    pub(super) fn at_or_after(&self, from: i64) -> Option<i64> {
        let from = from.max(self.base);
        let found = self.leap(from).or_else(|| self.search(from));
        found.filter(|&found| found <= self.last)
    }

    /// Counts the occurrences in `from..until`. Takes a step for each change of the clocks and for each span of
    /// allowed months.
    pub(super) fn count(&self, from: i64, until: i64) -> i64 {
        let (from, until) = (from.max(self.base), until.min(self.last + 1));
        let mut cycles = Cycles::new(self);
        let stretches = self.zone.stretches(from).take_while(|stretch| stretch.from < until);
        let counts = stretches.map(|stretch| {
            let cycle = cycles.at(stretch.offset);
            let first = ceil_minute(stretch.from + stretch.offset);
            let end = ceil_minute(stretch.until.min(until) + stretch.offset);
            if cycle.is_empty() {
                return 0;
            }
            let count = |first: i64, end: i64| cycle.count_before(end) - cycle.count_before(first);
            if self.months == Months::ALL {
                return count(first, end);
            }
            let (first_day, end_day) = (first.div_euclid(DAY_MINUTES), end.div_euclid(DAY_MINUTES) + 1);
            let spans = self.months.spans(first_day, end_day);
            let in_span = |(open, closed): (i64, i64)| {
                let (open, closed) = ((open * DAY_MINUTES).max(first), (closed * DAY_MINUTES).min(end));
                if open < closed { count(open, closed) } else { 0 }
            };
            spans.map(in_span).sum()
        });
        counts.sum()
    }

    /// A bound of how many there are in a range of so many seconds: by the blocks, and by the chosen times.
    pub(super) fn most(&self, seconds: u64) -> u64 {
        let blocks = seconds / self.step.unsigned_abs() + 2;
        let in_blocks = blocks * (self.length / 60).unsigned_abs();
        in_blocks.min(zone::days_most(seconds) * self.times.count().unsigned_abs())
    }

    /// The occurrences repeat after this many times 400 years.
    pub(super) fn calendars(&self) -> i64 {
        self.step / greatest_common_divisor(self.step, CALENDAR_DAYS * DAY_SECONDS)
    }

    /// Looks for a hit between an instant and the next change of the clocks by a few leaps. `None` does not
    /// prove that there is no hit.
    fn leap(&self, from: i64) -> Option<i64> {
        let offset = self.zone.offset_at(from);
        let mut at = from;
        let mut change = None;
        for _ in 0..LEAPS_MAX {
            step();
            let found = self.allowed_at_or_after(ceil_minute(at + offset))? * 60 - offset;
            if found > self.last {
                return None;
            }
            if found - from > QUIET_SECONDS || self.zone.offset_at(found) != offset {
                let change = *change.get_or_insert_with(|| self.zone.change_after(from).unwrap_or(i64::MAX));
                if found >= change {
                    return None;
                }
            }
            let into_step = (found - self.base).rem_euclid(self.step);
            if into_step < self.length {
                return Some(found);
            }
            at = found + (self.step - into_step);
        }
        None
    }

    /// The first minute of wall time at or after `minute` that hours, minutes and months allow.
    fn allowed_at_or_after(&self, mut minute: i64) -> Option<i64> {
        loop {
            step();
            let today = minute.div_euclid(DAY_MINUTES);
            let day = self.months.open_from(today)?;
            let minute_of_day = if day == today { minute.rem_euclid(DAY_MINUTES) } else { 0 };
            match self.times.at_or_after(minute_of_day) {
                Some(found) => return Some(day * DAY_MINUTES + found),
                None => minute = (day + 1) * DAY_MINUTES,
            }
        }
    }

    /// Looks for a hit stretch by stretch. Takes a step for each change of the clocks and for each span of
    /// allowed months; where there is no hit, that is up to the year 9999.
    fn search(&self, from: i64) -> Option<i64> {
        let mut cycles = Cycles::new(self);
        let mut barren_count = 0;
        for stretch in self.zone.stretches(from).take_while(|stretch| stretch.from <= self.last) {
            let cycle = cycles.at(stretch.offset);
            if cycle.is_empty() {
                barren_count = if stretch.from > SETTLED_FROM { barren_count + 1 } else { 0 };
                if barren_count > EMPTY_STRETCHES_MAX {
                    return None;
                }
                continue;
            }
            match self.search_stretch(cycle, stretch) {
                Search::Found(minute) => return Some(minute * 60 - stretch.offset),
                Search::Missed => barren_count = 0,
                // No allowed month is in this stretch, which proves nothing about the others.
                Search::Closed => {}
            }
        }
        None
    }

    fn search_stretch(&self, cycle: &Cycle, stretch: Stretch) -> Search {
        let end = ceil_minute(stretch.until.min(self.last + 1) + stretch.offset);
        let mut minute = ceil_minute(stretch.from + stretch.offset);
        let mut missed = Search::Closed;
        loop {
            step();
            let today = minute.div_euclid(DAY_MINUTES);
            match self.months.open_from(today) {
                Some(day) if day == today => {}
                Some(day) => minute = day * DAY_MINUTES,
                None => return Search::Closed,
            }
            if minute >= end {
                return missed;
            }
            missed = Search::Missed;
            match cycle.at_or_after(minute) {
                Some(found) if found < end => {
                    let day = found.div_euclid(DAY_MINUTES);
                    if self.months.open_from(day) == Some(day) {
                        return Search::Found(found);
                    }
                    minute = found;
                }
                Some(_) | None => return missed,
            }
        }
    }
}

enum Search {
    Found(i64),
    /// Allowed months are in the stretch, but no hit.
    Missed,
    /// No allowed month is in the stretch.
    Closed,
}

/// The cycles by offset, each computed when it is first needed. A zone has few offsets.
struct Cycles<'a> {
    blocks: &'a Blocks,
    met: Vec<(i64, Cycle)>,
}

impl<'a> Cycles<'a> {
    fn new(blocks: &'a Blocks) -> Self {
        Self { blocks, met: Vec::new() }
    }

    fn at(&mut self, offset: i64) -> &Cycle {
        let index = self.met.iter().position(|(met, _)| *met == offset).unwrap_or_else(|| {
            let blocks = self.blocks;
            let begin = ceil_minute(blocks.base + offset);
            let cycle = Cycle::new(begin, blocks.step / 60, blocks.length / 60, blocks.times);
            self.met.push((offset, cycle));
            self.met.len() - 1
        });
        &self.met[index].1
    }
}
