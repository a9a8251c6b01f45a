//! No schedule: anchor + k x interval units, a grid that never drifts.

use jiff::Timestamp;

use super::{Due, floor_second};
use crate::calendar::{DAY_MAX, DAY_SECONDS, date_of, day_number, month_length};
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

/// A gap moves a wall time forward by up to a day, so the search begins so many days before.
const GAP_DAYS: i64 = 2;

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
                    .filter_map(|day| wall.on(day))
                    .find(|&due| due >= from)
            }
            Step::Months { months, wall } => {
                let (year, month, day_of_month) = date_of(wall.day);
                let anchor_month = year * 12 + i64::from(month) - 1;
                let (year, month, _) = date_of(wall.day_at(from) - GAP_DAYS);
                let from_month = year * 12 + i64::from(month) - 1;
                let first = (from_month - anchor_month).div_euclid(*months).max(1);
                (first..)
                    .map(|k| day_in_month(anchor_month + k * months, day_of_month))
                    .take_while(|&day| day <= DAY_MAX)
                    .filter_map(|day| wall.on(day))
                    .find(|&due| due >= from)
            }
        }
    }
}

impl Grid {
    /// The occurrences from a grid point on, up to and including an instant, where that is arithmetic:
    /// a job of every minute may have missed a million of them.
    pub(super) fn due_between(&self, first: Timestamp, until: Timestamp) -> Option<Due> {
        let Step::Exact { nanoseconds } = &self.step else { return None };
        let on_grid = (first.as_nanosecond() - self.anchor_at.as_nanosecond()) % nanoseconds == 0;
        let steps = (until.as_nanosecond() - first.as_nanosecond()) / nanoseconds;
        let at = |step: i128| Timestamp::from_nanosecond(first.as_nanosecond() + step * nanoseconds).ok();
        let count = u64::try_from(steps).ok().filter(|_| on_grid)? + 1;
        let before_last = if steps > 0 { at(steps - 1) } else { None };
        Some(Due { first, last: at(steps)?, before_last, count })
    }

    /// The second of the day that a grid of days keeps on the wall clock; none for exact durations.
    pub(super) fn second_of_day(&self) -> Option<i64> {
        match &self.step {
            Step::Exact { .. } => None,
            Step::Days { wall, .. } | Step::Months { wall, .. } => Some(wall.second_of_day),
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

    /// The instant of the anchor's wall time on a day; none behind the end of time.
    fn on(&self, day: i64) -> Option<Timestamp> {
        let second = self.zone.resolve(day * DAY_SECONDS + self.second_of_day).at;
        let nanoseconds = i128::from(second) * 1_000_000_000 + i128::from(self.nanosecond);
        Timestamp::from_nanosecond(nanoseconds).ok()
    }
}

fn day_in_month(month_index: i64, day_of_month: u8) -> i64 {
    let year = month_index.div_euclid(12);
    let month = u8::try_from(month_index.rem_euclid(12) + 1).expect("a month is from 1 to 12");
    day_number(year, month, day_of_month.min(month_length(year, month)))
}
