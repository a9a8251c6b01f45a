//! Rules without a schedule: anchor + k × interval units, a grid that never drifts.

use jiff::Timestamp;

use super::chosen::Walls;
use super::cycle::greatest_common_divisor;
use super::due::DueRange;
use super::floor_second;
use super::wall::count_resolved;
use crate::calendar::{CALENDAR_DAYS, DAY_MAX, DAY_SECONDS, date_of, day_number, month_length};
use crate::steps::step;
use crate::zone::Zone;
use crate::{CheckedRule, Frequency};

/// A grid from an anchor.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    anchor_at: Timestamp,
    step: Step,
}

#[derive(Clone, Debug)]
enum Step {
    /// Minutes and hours are exact durations.
    Exact { nanoseconds: i128 },
    /// Days and weeks keep the wall time.
    Days { days: i64, wall: Wall },
    /// Months and years keep the wall time and the day of month, or the last day of a shorter month.
    Months { months: i64, wall: Wall },
}

/// The anchor on the wall clock.
#[derive(Clone, Debug)]
struct Wall {
    zone: Zone,
    day: i64,
    second_of_day: i64,
    /// The fraction of a second of the anchor, which all occurrences keep.
    nanosecond: i32,
}

/// A gap moves a wall time forward by up to a day, so the search begins this many days earlier.
const GAP_DAYS: i64 = 2;

const NANOSECONDS: i128 = 1_000_000_000;

impl Grid {
    pub(super) fn new(rule: &CheckedRule, anchor_at: Timestamp) -> Self {
        let wall = || Wall::new(&rule.zone, anchor_at);
        let interval = rule.interval;
        let step = match rule.frequency {
            Frequency::Minute => Step::Exact { nanoseconds: i128::from(interval) * 60_000_000_000 },
            Frequency::Hour => Step::Exact { nanoseconds: i128::from(interval) * 3_600_000_000_000 },
            Frequency::Day => Step::Days { days: interval, wall: wall() },
            Frequency::Week => Step::Days { days: 7 * interval, wall: wall() },
            Frequency::Month => Step::Months { months: interval, wall: wall() },
            Frequency::Year => Step::Months { months: 12 * interval, wall: wall() },
        };
        Self { anchor_at, step }
    }

    /// A bound of how many there are in a range of so many seconds. A change of the clocks moves a wall time by up to
    /// a day.
    pub(super) fn most(&self, seconds: u64) -> u64 {
        let (step, moved) = match self.step {
            Step::Exact { nanoseconds } => (i64::try_from(nanoseconds / NANOSECONDS).unwrap_or(i64::MAX), 0),
            Step::Days { days, .. } => (days * DAY_SECONDS, DAY_SECONDS),
            Step::Months { months, .. } => (months * 28 * DAY_SECONDS, DAY_SECONDS),
        };
        (seconds + 2 * moved.unsigned_abs()) / step.unsigned_abs().max(1) + 1
    }

    pub(super) fn at_or_after(&self, from: Timestamp) -> Option<Timestamp> {
        if from <= self.anchor_at {
            return Some(self.anchor_at);
        }
        match &self.step {
            Step::Exact { nanoseconds } => {
                let elapsed = from.as_nanosecond() - self.anchor_at.as_nanosecond();
                let steps = elapsed + (nanoseconds - 1);
                let due = self.anchor_at.as_nanosecond() + steps - steps % nanoseconds;
                Timestamp::from_nanosecond(due).ok()
            }
            Step::Days { days, wall } => {
                let first = (wall.day_at(from) - GAP_DAYS - wall.day).div_euclid(*days).max(1);
                (first..)
                    .map(|k| wall.day + k * days)
                    .take_while(|&day| day <= DAY_MAX)
                    .inspect(|_| step())
                    .filter_map(|day| wall.on(day))
                    .find(|&due| due >= from)
            }
            Step::Months { months, wall } => {
                let (_, _, day_of_month) = date_of(wall.day);
                let anchor_month = month_index(wall.day);
                let from_month = month_index(wall.day_at(from) - GAP_DAYS);
                let first = (from_month - anchor_month).div_euclid(*months).max(1);
                (first..)
                    .map(|k| day_in_month(anchor_month + k * months, day_of_month))
                    .take_while(|&day| day <= DAY_MAX)
                    .inspect(|_| step())
                    .filter_map(|day| wall.on(day))
                    .find(|&due| due >= from)
            }
        }
    }
}

impl Grid {
    /// The occurrences from a grid point on, up to and including `until`, where that is arithmetic: a job of
    /// every minute may have missed a million of them.
    pub(super) fn due_between(&self, first: Timestamp, until: Timestamp) -> Option<DueRange> {
        let Step::Exact { nanoseconds } = &self.step else { return None };
        let on_grid = (first.as_nanosecond() - self.anchor_at.as_nanosecond()) % nanoseconds == 0;
        let steps = (until.as_nanosecond() - first.as_nanosecond()) / nanoseconds;
        let at = |step: i128| Timestamp::from_nanosecond(first.as_nanosecond() + step * nanoseconds).ok();
        let count = u64::try_from(steps).ok().filter(|_| on_grid)? + 1;
        let before_last = if steps > 0 { at(steps - 1) } else { None };
        Some(DueRange { first, last: at(steps)?, before_last, count })
    }

    /// Counts the occurrences from one instant to another, both included. Takes a step for each change of the
    /// clocks, and none for exact durations.
    pub(super) fn count(&self, from: Timestamp, until: Timestamp) -> u64 {
        let (from_at, until_at) = (from.as_nanosecond(), until.as_nanosecond());
        match &self.step {
            Step::Exact { nanoseconds } => {
                let anchor_at = self.anchor_at.as_nanosecond();
                let before = |at: i128| (at - anchor_at + nanoseconds - 1).max(0) / nanoseconds;
                u64::try_from(before(until_at + 1) - before(from_at)).unwrap_or(0)
            }
            Step::Days { wall, .. } | Step::Months { wall, .. } => {
                // All but the anchor itself are whole seconds plus the same fraction.
                let ceil =
                    |at: i128| (at - i128::from(wall.nanosecond) + NANOSECONDS - 1).div_euclid(NANOSECONDS);
                let second = |at: i128| i64::try_from(ceil(at)).expect("instants fit");
                let later = count_resolved(&wall.zone, self, second(from_at), second(until_at + 1));
                let anchor = (from..=until).contains(&self.anchor_at);
                u64::try_from(later).unwrap_or(0) + u64::from(anchor)
            }
        }
    }

    /// The occurrences repeat after this many times 400 years; none for exact durations, which need no search.
    pub(super) fn calendars(&self) -> Option<i64> {
        let (step, units) = match &self.step {
            Step::Exact { .. } => return None,
            Step::Days { days, .. } => (*days, CALENDAR_DAYS),
            Step::Months { months, .. } => (*months, 400 * 12),
        };
        Some(step / greatest_common_divisor(step, units))
    }

    /// The second of the day that a grid of days keeps on the wall clock; none for exact durations.
    pub(super) fn second_of_day(&self) -> Option<i64> {
        match &self.step {
            Step::Exact { .. } => None,
            Step::Days { wall, .. } | Step::Months { wall, .. } => Some(wall.second_of_day),
        }
    }
}

/// The wall times after the anchor.
impl Walls for Grid {
    fn count_walls(&self, from: i64, until: i64) -> i64 {
        (self.count_before(until) - self.count_before(from)).max(0)
    }

    fn count_followed(&self, from: i64, until: i64, seconds: i64) -> i64 {
        match &self.step {
            // Only a gap of a whole day can move one occurrence onto the next.
            Step::Days { days, .. } if seconds % (days * DAY_SECONDS) == 0 => self.count_walls(from, until),
            Step::Exact { .. } | Step::Days { .. } | Step::Months { .. } => 0,
        }
    }
}

impl Grid {
    /// Counts the wall times after the anchor and before `wall_time`.
    fn count_before(&self, wall_time: i64) -> i64 {
        // The last day whose occurrence is before `wall_time`.
        let last_day = |wall: &Wall| (wall_time - 1 - wall.second_of_day).div_euclid(DAY_SECONDS);
        match &self.step {
            Step::Exact { .. } => 0,
            Step::Days { days, wall } => (last_day(wall) - wall.day).div_euclid(*days).max(0),
            Step::Months { months, wall } => {
                let anchor_month = month_index(wall.day);
                let (_, _, day_of_month) = date_of(wall.day);
                let last = last_day(wall);
                let steps = (month_index(last) - anchor_month).div_euclid(*months);
                let reached = day_in_month(anchor_month + steps * months, day_of_month) <= last;
                (steps - i64::from(!reached)).max(0)
            }
        }
    }
}

impl Wall {
    fn new(zone: &Zone, at: Timestamp) -> Self {
        let second = floor_second(at);
        let local = second + zone.offset_at(second);
        let nanosecond = i32::try_from(at.as_nanosecond() - i128::from(second) * 1_000_000_000)
            .expect("less than a second is left");
        Self {
            zone: zone.clone(),
            day: local.div_euclid(DAY_SECONDS),
            second_of_day: local.rem_euclid(DAY_SECONDS),
            nanosecond,
        }
    }

    fn day_at(&self, at: Timestamp) -> i64 {
        let second = floor_second(at);
        (second + self.zone.offset_at(second)).div_euclid(DAY_SECONDS)
    }

    /// The instant of the anchor's wall time on a day; none after the end of time.
    fn on(&self, day: i64) -> Option<Timestamp> {
        let second = self.zone.resolve(day * DAY_SECONDS + self.second_of_day).at;
        let nanoseconds = i128::from(second) * 1_000_000_000 + i128::from(self.nanosecond);
        Timestamp::from_nanosecond(nanoseconds).ok()
    }
}

/// The number of the month of a day, counted from January of the year 0.
fn month_index(day: i64) -> i64 {
    let (year, month, _) = date_of(day);
    year * 12 + i64::from(month) - 1
}

fn day_in_month(month_index: i64, day_of_month: u8) -> i64 {
    let year = month_index.div_euclid(12);
    let month = u8::try_from(month_index.rem_euclid(12) + 1).expect("a month is from 1 to 12");
    day_number(year, month, day_of_month.min(month_length(year, month)))
}
