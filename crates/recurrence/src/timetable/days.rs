//! The days that a rule with a schedule chooses: the next one, and how many there are between two.

use super::Anchor;
use super::cycle::greatest_common_divisor;
use super::month_days::MonthDays;
use super::months::Months;
use crate::calendar::{CALENDAR_DAYS, DAY_MAX, date_of, day_number, week_begin, week_number, weekday_index};
use crate::check::Choice;
use crate::steps::step;
use crate::{CheckedRule, Frequency};

/// The chosen days.
#[derive(Clone, Debug)]
pub(super) struct Days {
    period: Period,
    interval: i64,
    /// Allowed months that the interval reaches and that can have a chosen day. Without months a rule such as
    /// the 31st of February ends before any search.
    months: Months,
    /// No later day is chosen.
    last_day: i64,
    /// Why no day is ever chosen, where that is known without a search.
    never_reason: Option<NeverReason>,
}

/// Why no day is ever chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NeverReason {
    /// None of these months, which are the allowed ones, ever has a chosen day.
    NoSuchDay(Months),
    /// The interval reaches none of these months, which are those with chosen days.
    NotMet(Months),
}

#[derive(Clone, Debug)]
enum Period {
    /// Every interval-th date from the anchor's.
    Day { anchor_day: i64 },
    /// Bits of weekdays in every interval-th week from the anchor's.
    Week { anchor_week: i64, week_days: u8 },
    /// Days in every interval-th month from the anchor's. Months count from the year 0.
    Month { anchor_month: i64, days: MonthDays },
    /// Days in the allowed months of every interval-th year from the anchor's.
    Year { anchor_year: i64, days: MonthDays },
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
        let mut allowed = choice.months.map_or(Months::ALL, Months::new);
        let period = match rule.frequency {
            Frequency::Month => Period::Month { anchor_month: month_index(year, month), days: month_days() },
            Frequency::Year => {
                if choice.months.is_none() {
                    allowed = Months::new(1 << month);
                }
                Period::Year { anchor_year: year, days: month_days() }
            }
            Frequency::Week => {
                let week_days = choice.week_days.unwrap_or(1 << weekday_index(anchor.day));
                Period::Week { anchor_week: week_number(anchor.day), week_days }
            }
            Frequency::Minute | Frequency::Hour | Frequency::Day => Period::Day { anchor_day: anchor.day },
        };
        let (months, never_reason) = period.months(allowed, rule.interval);
        // Two days more, because the end is an instant and these are dates in some zone.
        let last_day = rule.end_at.map_or(DAY_MAX, |end_at| {
            (super::floor_second(end_at).div_euclid(crate::calendar::DAY_SECONDS) + 2).min(DAY_MAX)
        });
        Self { period, interval: rule.interval, months, last_day, never_reason }
    }

    /// Why no day is ever chosen, where that is known without a search.
    pub(super) fn never_reason(&self) -> Option<NeverReason> {
        self.never_reason
    }

    /// The same days are chosen again after this many times 400 years.
    pub(super) fn calendars(&self) -> i64 {
        let units = match &self.period {
            Period::Day { .. } => CALENDAR_DAYS,
            Period::Week { .. } => CALENDAR_DAYS / 7,
            Period::Month { .. } => 400 * 12,
            Period::Year { .. } => 400,
        };
        self.interval / greatest_common_divisor(self.interval, units)
    }

    pub(super) fn contains(&self, day: i64) -> bool {
        // Not `at_or_after`: that could search far beyond the day.
        self.count(day, day + 1) > 0
    }

    /// The first chosen day at or after a day.
    pub(super) fn at_or_after(&self, day: i64) -> Option<i64> {
        if self.months.is_empty() {
            return None;
        }
        let found = match &self.period {
            Period::Day { anchor_day } => {
                self.search(day, |day| Some(anchor_day + round_up((day - anchor_day).max(0), self.interval)))
            }
            Period::Week { anchor_week, week_days } => {
                self.search(day, |day| self.next_in_weeks(day, *anchor_week, *week_days))
            }
            Period::Month { days, .. } | Period::Year { days, .. } => self.next_in_months(day, days),
        };
        found.filter(|&day| day <= self.last_day)
    }

    /// Counts the chosen days in `from..until`.
    ///
    /// Takes a step for each span of allowed months, or for each month in which days are chosen: at most twelve
    /// a year.
    pub(super) fn count(&self, from: i64, until: i64) -> i64 {
        let until = until.min(self.last_day + 1);
        if self.months.is_empty() || from >= until {
            return 0;
        }
        let in_spans = |count_before: &dyn Fn(i64) -> i64| -> i64 {
            self.months.spans(from, until).map(|(begin, end)| count_before(end) - count_before(begin)).sum()
        };
        match &self.period {
            Period::Day { anchor_day } => in_spans(&|day| multiples_before(day - anchor_day, self.interval)),
            Period::Week { anchor_week, week_days } => {
                in_spans(&|day| self.count_in_weeks_before(day, *anchor_week, *week_days))
            }
            Period::Month { days, .. } | Period::Year { days, .. } => self.count_in_months(from, until, days),
        }
    }

    /// Takes days from `next` until one is in an allowed month, and leaps over the other months. An interval of
    /// up to 28 days reaches every month; a longer one takes at most a step per interval up to the year 9999.
    fn search(&self, mut day: i64, next: impl Fn(i64) -> Option<i64>) -> Option<i64> {
        while day <= self.last_day {
            step();
            let found = next(day)?;
            day = self.months.open_from(found)?;
            if day == found {
                return Some(found);
            }
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

    fn count_in_weeks_before(&self, day: i64, anchor_week: i64, week_days: u8) -> i64 {
        let week = week_number(day);
        let whole_weeks = multiples_before(week - anchor_week, self.interval);
        let counts = week >= anchor_week && (week - anchor_week) % self.interval == 0;
        let this_week = if counts { week_days & ((1 << (day - week_begin(week))) - 1) } else { 0 };
        whole_weeks * i64::from(week_days.count_ones()) + i64::from(this_week.count_ones())
    }

    /// The first chosen day in a month of the interval. Each step takes a month that can have a chosen day, so
    /// few steps are enough; only a day that hardly ever exists takes steps up to the year 9999.
    fn next_in_months(&self, day: i64, days: &MonthDays) -> Option<i64> {
        let (year, month, day_of_month) = date_of(day);
        let from_month = month_index(year, month);
        let (last_year, last_month, _) = date_of(self.last_day);
        let last_index = month_index(last_year, last_month);
        let mut index = self.month_at_or_after(from_month)?;
        while index <= last_index {
            step();
            let (year, month) = month_of(index);
            let mut chosen = days.of(year, month);
            if index == from_month {
                chosen &= u32::MAX << day_of_month;
            }
            if chosen != 0 {
                return Some(day_number(year, month, 1) + i64::from(chosen.trailing_zeros()) - 1);
            }
            index = self.month_at_or_after(index + 1)?;
        }
        None
    }

    fn count_in_months(&self, from: i64, until: i64, days: &MonthDays) -> i64 {
        let (year, month, _) = date_of(from);
        let mut next = self.month_at_or_after(month_index(year, month));
        let mut count = 0;
        while let Some(index) = next {
            step();
            let (year, month) = month_of(index);
            let begin = day_number(year, month, 1);
            if begin >= until {
                break;
            }
            // Bit 1 is the first day.
            let mut chosen = u64::from(days.of(year, month)) >> 1;
            chosen &= u64::MAX << (from - begin).clamp(0, 31);
            chosen &= (1 << (until - begin).clamp(0, 31)) - 1;
            count += i64::from(chosen.count_ones());
            next = self.month_at_or_after(index + 1);
        }
        count
    }

    /// The first allowed month at or after `index` that is on the interval.
    fn month_at_or_after(&self, index: i64) -> Option<i64> {
        match &self.period {
            Period::Day { .. } | Period::Week { .. } => None,
            Period::Month { anchor_month, .. } => {
                let first = anchor_month + round_up((index - anchor_month).max(0), self.interval);
                // After at most twelve steps the interval reaches the same months again.
                (0..12)
                    .map(|steps| first + steps * self.interval)
                    .find(|&index| self.months.contains(month_of(index).1))
            }
            Period::Year { anchor_year, .. } => {
                let (year, month) = month_of(index);
                let first = anchor_year + round_up((year - anchor_year).max(0), self.interval);
                let from_month = if first == year { month } else { 1 };
                match self.months.at_or_after(from_month) {
                    Some(month) => Some(month_index(first, month)),
                    None => Some(month_index(first + self.interval, self.months.at_or_after(1)?)),
                }
            }
        }
    }
}

impl Period {
    /// The allowed months in which days can be chosen; if there are none, the reason.
    fn months(&self, allowed: Months, interval: i64) -> (Months, Option<NeverReason>) {
        let (Self::Month { days, .. } | Self::Year { days, .. }) = self else { return (allowed, None) };
        let possible = allowed.filter(|month| days.possible_in(month));
        if possible.is_empty() {
            return (possible, Some(NeverReason::NoSuchDay(allowed)));
        }
        let Self::Month { anchor_month, .. } = self else { return (possible, None) };
        let met = possible
            .filter(|month| (0..12).any(|steps| month_of(anchor_month + steps * interval).1 == month));
        (met, met.is_empty().then_some(NeverReason::NotMet(possible)))
    }
}

/// The number of a month, counted from January of the year 0.
fn month_index(year: i64, month: u8) -> i64 {
    year * 12 + i64::from(month) - 1
}

/// Year and month of a month index.
fn month_of(index: i64) -> (i64, u8) {
    let month = u8::try_from(index.rem_euclid(12) + 1).expect("a month is from 1 to 12");
    (index.div_euclid(12), month)
}

/// The smallest multiple of `step` that is at least `number`, which is not negative.
fn round_up(number: i64, step: i64) -> i64 {
    (number + step - 1) / step * step
}

/// Counts the multiples of `step`, from 0 on, that are less than `number`.
fn multiples_before(number: i64, step: i64) -> i64 {
    if number <= 0 { 0 } else { (number - 1) / step + 1 }
}
