//! Which days a rule with a schedule chooses, as a search for the next one.

use super::{Anchor, months_of};
use crate::calendar::{DAY_MAX, date_of, day_number, month_length, week_begin, week_number, weekday_index};
use crate::check::Choice;
use crate::{CheckedRule, Frequency};

/// The chosen days.
#[derive(Clone, Debug)]
pub(super) struct Days {
    period: Period,
    interval: i64,
    /// Bit 1 to 12: months that are allowed and can have a chosen day at all, so that a rule such as
    /// the 31st of February ends before it is searched for.
    months: u16,
    /// Nothing is chosen behind this day.
    last_day: i64,
}

#[derive(Clone, Debug)]
enum Period {
    /// Every interval-th date from the anchor's.
    Day { anchor_day: i64 },
    /// Bits of weekdays in every interval-th week from the anchor's.
    Week { anchor_week: i64, week_days: u8 },
    /// Days in every interval-th month from the anchor's.
    Month { anchor_month: i64, days: MonthDays },
    /// Days in the allowed months of every interval-th year from the anchor's.
    Year { anchor_year: i64, days: MonthDays },
}

/// Days within a month.
#[derive(Clone, Debug)]
enum MonthDays {
    /// The anchor's day of month, or the last day of a shorter month.
    Anchor(u8),
    Chosen(Choice),
}

impl Days {
    pub(super) fn new(rule: &CheckedRule, choice: &Choice, anchor: &Anchor) -> Self {
        let (year, month, day_of_month) = date_of(anchor.day);
        let month_days = || {
            if choice.month_days_chosen {
                MonthDays::Chosen(choice.clone())
            } else {
                MonthDays::Anchor(day_of_month)
            }
        };
        let mut months = months_of(choice);
        let period = match rule.frequency {
            Frequency::Month => {
                Period::Month { anchor_month: year * 12 + i64::from(month) - 1, days: month_days() }
            }
            Frequency::Year => {
                if choice.months.is_none() {
                    months = 1 << month;
                }
                Period::Year { anchor_year: year, days: month_days() }
            }
            Frequency::Week => {
                let week_days = choice.week_days.unwrap_or(1 << weekday_index(anchor.day));
                Period::Week { anchor_week: week_number(anchor.day), week_days }
            }
            Frequency::Minute | Frequency::Hour | Frequency::Day => Period::Day { anchor_day: anchor.day },
        };
        if let Period::Month { days, .. } | Period::Year { days, .. } = &period {
            for month in 1..=12 {
                if !days.possible_in(month) {
                    months &= !(1 << month);
                }
            }
        }
        // Two days more, because the end is an instant and these are dates of some zone.
        let last_day = rule.end_at.map_or(DAY_MAX, |end_at| {
            (super::floor_second(end_at).div_euclid(crate::calendar::DAY_SECONDS) + 2).min(DAY_MAX)
        });
        Self { period, interval: rule.interval, months, last_day }
    }

    /// The first chosen day at or after a day.
    pub(super) fn at_or_after(&self, day: i64) -> Option<i64> {
        if self.months == 0 {
            return None;
        }
        let found = match &self.period {
            Period::Day { anchor_day } => {
                self.search(day, |day| Some(anchor_day + round_up((day - anchor_day).max(0), self.interval)))
            }
            Period::Week { anchor_week, week_days } => {
                self.search(day, |day| self.next_in_weeks(day, *anchor_week, *week_days))
            }
            Period::Month { anchor_month, days } => {
                self.next_in_months(day, days, *anchor_month, |month| month - anchor_month)
            }
            Period::Year { anchor_year, days } => {
                self.next_in_months(day, days, anchor_year * 12, |month| month.div_euclid(12) - anchor_year)
            }
        };
        found.filter(|&day| day <= self.last_day)
    }

    /// Takes days from `next` until one falls into an allowed month, leaping over the others.
    fn search(&self, mut day: i64, next: impl Fn(i64) -> Option<i64>) -> Option<i64> {
        while day <= self.last_day {
            day = next(day)?;
            let (year, month, _) = date_of(day);
            if self.months & (1 << month) != 0 {
                return Some(day);
            }
            day = first_of_next_month(year, month);
        }
        None
    }

    fn next_in_weeks(&self, day: i64, anchor_week: i64, week_days: u8) -> Option<i64> {
        let week = anchor_week + round_up((week_number(day) - anchor_week).max(0), self.interval);
        let begin = week_begin(week);
        let rest = week_days >> (day - begin).clamp(0, 7);
        if rest != 0 {
            return Some(day.max(begin) + i64::from(rest.trailing_zeros()));
        }
        let next = week_begin(week + self.interval);
        (week_days != 0).then(|| next + i64::from(week_days.trailing_zeros()))
    }

    /// The first chosen day of a month whose distance from the anchor is a multiple of the interval.
    fn next_in_months(
        &self,
        day: i64,
        days: &MonthDays,
        first_month: i64,
        distance: impl Fn(i64) -> i64,
    ) -> Option<i64> {
        let (year, month, day_of_month) = date_of(day);
        let from_month = year * 12 + i64::from(month) - 1;
        let mut index = from_month.max(first_month);
        let (last_year, last_month, _) = date_of(self.last_day);
        let last_index = last_year * 12 + i64::from(last_month) - 1;
        while index <= last_index {
            let month = u8::try_from(index.rem_euclid(12) + 1).expect("a month is from 1 to 12");
            if self.months & (1 << month) != 0 && distance(index) % self.interval == 0 {
                let year = index.div_euclid(12);
                let mut chosen = days.of(year, month);
                if index == from_month {
                    chosen &= u32::MAX << day_of_month;
                }
                if chosen != 0 {
                    return Some(day_number(year, month, 1) + i64::from(chosen.trailing_zeros()) - 1);
                }
            }
            index += 1;
        }
        None
    }
}

impl MonthDays {
    /// Bit 1 to 31: the chosen days of a month.
    fn of(&self, year: i64, month: u8) -> u32 {
        let length = month_length(year, month);
        match self {
            Self::Anchor(day) => 1 << (*day).min(length),
            Self::Chosen(choice) => {
                let first_weekday = weekday_index(day_number(year, month, 1));
                chosen_days(choice, length, first_weekday)
            }
        }
    }

    /// Whether a month can have a chosen day in any year.
    fn possible_in(&self, month: u8) -> bool {
        let Self::Chosen(choice) = self else { return true };
        let lengths = if month == 2 { 28..=29 } else { month_length(1, month)..=month_length(1, month) };
        lengths
            .flat_map(|length| (0..7).map(move |weekday| (length, weekday)))
            .any(|(length, weekday)| chosen_days(choice, length, weekday) != 0)
    }
}

/// Bit 1 to 31: the chosen days of a month of a length whose first day is a weekday.
fn chosen_days(choice: &Choice, length: u8, first_weekday: u8) -> u32 {
    let mut days = choice.days_from_begin;
    let mut from_end = choice.days_from_end;
    while from_end != 0 {
        let back = from_end.trailing_zeros();
        from_end &= from_end - 1;
        if let Some(day) = (u32::from(length) + 1).checked_sub(back) {
            days |= 1 << day;
        }
    }
    for weekday in 0..7 {
        let begin = choice.weekdays_from_begin[usize::from(weekday)];
        let end = choice.weekdays_from_end[usize::from(weekday)];
        if begin | end == 0 {
            continue;
        }
        let first = 1 + (weekday + 7 - first_weekday) % 7;
        let count = (length - first) / 7 + 1;
        for nth in 1..=count {
            if begin & (1 << nth) != 0 || end & (1 << (count + 1 - nth)) != 0 {
                days |= 1 << (first + 7 * (nth - 1));
            }
        }
    }
    // Bit 0 is no day, and bits behind the month's end are days that it lacks.
    days & !1 & (u32::MAX >> (31 - length))
}

fn first_of_next_month(year: i64, month: u8) -> i64 {
    if month == 12 { day_number(year + 1, 1, 1) } else { day_number(year, month + 1, 1) }
}

/// The least multiple of `step` that is not less than a number that is not negative.
fn round_up(number: i64, step: i64) -> i64 {
    (number + step - 1) / step * step
}
