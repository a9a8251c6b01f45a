//! Chosen days times chosen wall-clock times.

use super::Anchor;
use super::days::Days;
use crate::CheckedRule;
use crate::calendar::DAY_SECONDS;
use crate::check::Choice;
use crate::zone::{QUIET_SECONDS, Zone};

/// Wall times on chosen days. A wall time that occurs twice is taken once, the first; one that does
/// not exist moves forward by the length of the gap; two that coincide are one.
#[derive(Clone, Debug)]
pub(super) struct WallTimes {
    days: Days,
    zone: Zone,
    hours: u32,
    minutes: u64,
}

impl WallTimes {
    pub(super) fn new(
        rule: &CheckedRule,
        choice: &Choice,
        anchor: &Anchor,
        hours: u32,
        minutes: u64,
    ) -> Self {
        Self { days: Days::new(rule, choice, anchor), zone: rule.zone.clone(), hours, minutes }
    }

    /// The first occurrence at or after a second.
    pub(super) fn at_or_after(&self, from: i64) -> Option<i64> {
        let offset = self.zone.offset_at(from);
        let wall = self.wall_at_or_after(from + offset);
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
        self.search_near_change(from, from + offset)
    }

    /// Near a change of the clocks the order of instants is not that of wall times: those in a gap move
    /// behind some that follow them. So look at all that could be meant, and take the earliest.
    fn search_near_change(&self, from: i64, local: i64) -> Option<i64> {
        let mut wall = self.wall_at_or_after(local - 2 * DAY_SECONDS)?;
        let mut best: Option<(i64, i64)> = None;
        loop {
            let at = self.zone.resolve(wall).at;
            if at >= from && best.is_none_or(|(earliest, _)| at < earliest) {
                best = Some((at, best.map_or(wall, |(_, first_wall)| first_wall)));
            }
            match (best, self.wall_at_or_after(wall + 60)) {
                // A gap is at most a day long: what comes later can't be earlier.
                (Some((earliest, first_wall)), Some(next)) if next > first_wall + QUIET_SECONDS => {
                    return Some(earliest);
                }
                (_, Some(next)) => wall = next,
                (best, None) => return best.map(|(earliest, _)| earliest),
            }
        }
    }

    /// The first chosen wall time at or after a wall time.
    fn wall_at_or_after(&self, local: i64) -> Option<i64> {
        let minute = local.div_euclid(60) + i64::from(local.rem_euclid(60) != 0);
        let today = minute.div_euclid(1440);
        let day = self.days.at_or_after(today)?;
        let minute_of_day = if day == today { minute.rem_euclid(1440) } else { 0 };
        if let Some(found) = self.time_at_or_after(minute_of_day) {
            return Some(day * DAY_SECONDS + found * 60);
        }
        let day = self.days.at_or_after(day + 1)?;
        self.time_at_or_after(0).map(|found| day * DAY_SECONDS + found * 60)
    }

    /// Whether a wall time is chosen, whatever becomes of it.
    pub(super) fn chooses(&self, local: i64) -> bool {
        self.wall_at_or_after(local) == Some(local)
    }

    /// The first chosen minute of the day at or after one.
    fn time_at_or_after(&self, minute_of_day: i64) -> Option<i64> {
        next_time(self.hours, self.minutes, minute_of_day)
    }
}

/// The first minute of the day at or after one whose hour and minute are in the sets.
pub(super) fn next_time(hours: u32, minutes: u64, minute_of_day: i64) -> Option<i64> {
    let (hour, minute) = (minute_of_day / 60, minute_of_day % 60);
    let this_hour = if hours & (1 << hour) != 0 { minutes & (u64::MAX << minute) } else { 0 };
    if this_hour != 0 {
        return Some(hour * 60 + i64::from(this_hour.trailing_zeros()));
    }
    let later_hours = hours & (u32::MAX << hour) & !(1 << hour);
    let found = later_hours != 0 && minutes != 0;
    found.then(|| i64::from(later_hours.trailing_zeros()) * 60 + i64::from(minutes.trailing_zeros()))
}
