//! Chosen times of day: each chosen hour with each chosen minute.

use crate::calendar::DAY_MINUTES;

/// Every chosen hour with every chosen minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    /// Bit 0 to 23.
    hours: u32,
    /// Bit 0 to 59.
    minutes: u64,
}

pub(super) const ALL_HOURS: u32 = (1 << 24) - 1;
pub(super) const ALL_MINUTES: u64 = (1 << 60) - 1;

impl Times {
    pub(super) fn new(hours: u32, minutes: u64) -> Self {
        Self { hours, minutes }
    }

    /// The number of times a day.
    pub(super) fn count(self) -> i64 {
        i64::from(self.hours.count_ones() * self.minutes.count_ones())
    }

    /// Counts the times before a minute of the day, which is from 0 to 1440.
    pub(super) fn count_before(self, minute_of_day: i64) -> i64 {
        let (hour, minute) = (minute_of_day / 60, minute_of_day % 60);
        let hours_before = (self.hours & ((1 << hour) - 1)).count_ones();
        let this_hour = if self.hours >> hour & 1 == 1 { self.minutes & ((1 << minute) - 1) } else { 0 };
        i64::from(hours_before * self.minutes.count_ones() + this_hour.count_ones())
    }

    /// Counts the times in `length` minutes (at most a day) from a minute of the day on, across midnight.
    pub(super) fn count_from(self, minute_of_day: i64, length: i64) -> i64 {
        let end = minute_of_day + length;
        let today = self.count_before(end.min(DAY_MINUTES)) - self.count_before(minute_of_day);
        today + self.count_before((end - DAY_MINUTES).max(0))
    }

    /// The first time at or after a minute of the day.
    pub(super) fn at_or_after(self, minute_of_day: i64) -> Option<i64> {
        let (hour, minute) = (minute_of_day / 60, minute_of_day % 60);
        let this_hour = if self.hours & (1 << hour) != 0 { self.minutes & (u64::MAX << minute) } else { 0 };
        if this_hour != 0 {
            return Some(hour * 60 + i64::from(this_hour.trailing_zeros()));
        }
        let later_hours = self.hours & (u32::MAX << hour) & !(1 << hour);
        let found = later_hours != 0 && self.minutes != 0;
        found.then(|| i64::from(later_hours.trailing_zeros()) * 60 + i64::from(self.minutes.trailing_zeros()))
    }

    /// The times that have another chosen time exactly `minutes` (up to a day) later, as two disjoint sets: the
    /// later one is on the same day, or on the next day.
    pub(super) fn followed_by_another(self, minutes: i64) -> Followed {
        let (hours, rest) = (minutes / 60, minutes % 60);
        // A time h:m and the minutes make (h + hours):(m + rest), or one hour more and 60 minutes less.
        let plain = self.minutes & (self.minutes >> rest);
        let carried = self.minutes & (self.minutes << (60 - rest)) & ALL_MINUTES;
        let same_day = |hours: i64| self.hours & self.hours.checked_shr(hours as u32).unwrap_or(0);
        let next_day = |hours: i64| {
            let back = u32::try_from(24 - hours).unwrap_or(0);
            self.hours & (self.hours << back) & ALL_HOURS
        };
        Followed {
            same_day: [Self::new(same_day(hours), plain), Self::new(same_day(hours + 1), carried)],
            next_day: [Self::new(next_day(hours), plain), Self::new(next_day(hours + 1), carried)],
        }
    }
}

/// Times that have another chosen time some minutes later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Followed {
    pub(super) same_day: [Times; 2],
    pub(super) next_day: [Times; 2],
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(times: Times) -> Vec<i64> {
        (0..DAY_MINUTES).filter(|&minute| times.at_or_after(minute) == Some(minute)).collect()
    }

    const SETS: [(u32, u64); 6] = [
        (0b1, 0b1),
        (1 << 23, 1 << 59),
        (0b1100, 0b11 | 1 << 45),
        (ALL_HOURS, 1 << 30 | 1 << 15),
        (1 << 23 | 0b11, ALL_MINUTES),
        (ALL_HOURS, ALL_MINUTES),
    ];

    #[test]
    fn counting_agrees_with_listing() {
        for (hours, minutes) in SETS {
            let times = Times::new(hours, minutes);
            let list = listed(times);
            assert_eq!(times.count(), list.len() as i64);
            let mut before = 0;
            for minute in 0..=DAY_MINUTES {
                assert_eq!(times.count_before(minute), before, "{times:?} before {minute}");
                before += i64::from(list.contains(&minute));
            }
            for (minute, length) in [(0, 1440), (1430, 60), (1439, 2), (30, 0), (1380, 1440)] {
                let among = |one: &&i64| (**one - minute).rem_euclid(DAY_MINUTES) < length;
                assert_eq!(times.count_from(minute, length), list.iter().filter(among).count() as i64);
            }
        }
    }

    #[test]
    fn times_that_are_followed_by_another_are_found_across_midnight() {
        for (hours, minutes) in SETS {
            let times = Times::new(hours, minutes);
            let list = listed(times);
            for distance in [1, 15, 30, 45, 60, 61, 119, 120, 1380, 1395, 1425, 1439, 1440] {
                let followed = times.followed_by_another(distance);
                let found = |sets: [Times; 2]| {
                    let mut all: Vec<i64> = sets.into_iter().flat_map(listed).collect();
                    all.sort_unstable();
                    all
                };
                let expected = |days: i64| -> Vec<i64> {
                    let is = |one: &i64| list.contains(&(one + distance - days * DAY_MINUTES));
                    list.iter().copied().filter(is).collect()
                };
                assert_eq!(found(followed.same_day), expected(0), "{times:?} {distance}");
                assert_eq!(found(followed.next_day), expected(1), "{times:?} {distance}");
            }
        }
    }
}
