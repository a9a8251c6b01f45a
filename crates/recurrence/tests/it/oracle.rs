//! When a job is due, by brute force and straight from the words of the contract (18.1 to 18.5).
//!
//! Slow and obvious on purpose: every date of a window is asked whether it is chosen, every minute of a
//! block whether it matches; what comes out is sorted, freed of duplicates and cut to size. It shares
//! nothing with the engine but the rule as written and jiff's offsets.
//!
//! Where the contract leaves room, it is read so:
//! - "Second 0" is what the local clock shows. Before 1972 that was not always second 0 of UTC.
//! - Hour and Minute truncate their anchor along the real time line: what the local clock shows beyond
//!   the full hour (minute) is taken off, so that the first block holds the anchor, even in a fold.
//!   A grid minute is a block of 60 seconds, of which the instant with second 0 is taken.
//! - Periods are counted from the anchor's onward. Clocks set back just after midnight can bring the day
//!   before the anchor's once more; that day is not chosen.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use punctual_recurrence::{Frequency, MonthlyOccurrence, Rule, Schedule, Start};

use crate::wall_clock::{WallClock, datetime_of, day_number, reading_at, wall_of};

/// The longest gap there ever was is a day, and the widest offset is 26 hours: what is due within a
/// window was chosen at most this many days around it.
const MARGIN_DAYS: i64 = 3;
const DAY: i64 = 86_400;

/// Every instant from `from_at` to `until_at`, both included, at which a job is due. `count` is left
/// to the caller.
pub(crate) fn due_between(
    rule: &Rule,
    start: Start,
    from_at: Timestamp,
    until_at: Timestamp,
) -> BTreeSet<Timestamp> {
    let question = Question::new(rule, start, seconds(from_at), seconds(until_at));
    let mut due: BTreeSet<Timestamp> = match &rule.schedule {
        Some(schedule) if !schedule.is_empty() => question
            .with_schedule(schedule)
            .into_iter()
            .filter_map(|at| Timestamp::from_second(at).ok())
            .collect(),
        _ => question.without_schedule(start.anchor_at()),
    };
    match start.start_at {
        Some(start_at) => due.retain(|at| *at >= start_at.max(start.put_at)),
        None => {
            due.retain(|at| *at > start.put_at);
            due.insert(start.put_at);
        }
    }
    due.retain(|at| rule.end_at.is_none_or(|end_at| *at <= end_at));
    due.retain(|at| (from_at..=until_at).contains(at));
    due
}

struct Question {
    frequency: Frequency,
    interval: i64,
    /// The anchor as seconds, and what the local clock shows then.
    anchor_at: i64,
    anchor: DateTime,
    clock: WallClock,
    from_at: i64,
    until_at: i64,
}

impl Question {
    fn new(rule: &Rule, start: Start, from_at: i64, until_at: i64) -> Self {
        let zone = TimeZone::get(rule.time_zone.as_deref().unwrap_or("UTC")).expect("a known zone");
        let margin = (MARGIN_DAYS + 1) * DAY;
        Self {
            frequency: rule.frequency,
            interval: rule.interval.unwrap_or(1),
            anchor_at: seconds(start.anchor_at()),
            anchor: reading_at(&zone, start.anchor_at()),
            clock: WallClock::of(&zone, from_at.saturating_sub(margin), until_at.saturating_add(margin)),
            from_at,
            until_at,
        }
    }

    /// 18.2: anchor + k × interval units. The fraction of the anchor's second is put back at the end.
    fn without_schedule(&self, anchor_at: Timestamp) -> BTreeSet<Timestamp> {
        let fraction = anchor_at.as_nanosecond().rem_euclid(1_000_000_000);
        let mut due = BTreeSet::from([anchor_at]);
        let whole_seconds = match self.frequency {
            Frequency::Minute => self.grid(self.anchor_at, 60),
            Frequency::Hour => self.grid(self.anchor_at, 3600),
            Frequency::Day | Frequency::Week | Frequency::Month | Frequency::Year => self
                .dates()
                .filter(|day| *day > self.anchor.date() && self.steps_on(*day))
                .map(|day| self.clock.first_or_moved(wall_of(day.to_datetime(self.anchor.time()))))
                .collect(),
        };
        due.extend(
            whole_seconds
                .into_iter()
                .filter_map(|at| Timestamp::from_nanosecond(i128::from(at) * 1_000_000_000 + fraction).ok()),
        );
        due
    }

    /// Whether a step of k intervals from the anchor's date lands on this day.
    fn steps_on(&self, day: Date) -> bool {
        let days = day_number(day) - day_number(self.anchor.date());
        match self.frequency {
            Frequency::Day => days % self.interval == 0,
            Frequency::Week => days % (7 * self.interval) == 0,
            Frequency::Month => self.months_apart(day) % self.interval == 0 && self.keeps_day_of_month(day),
            Frequency::Year => {
                self.months_apart(day) % (12 * self.interval) == 0 && self.keeps_day_of_month(day)
            }
            Frequency::Minute | Frequency::Hour => unreachable!("these step by exact durations"),
        }
    }

    /// 18.3, whole minutes.
    fn with_schedule(&self, schedule: &Schedule) -> Vec<i64> {
        match self.frequency {
            Frequency::Minute => self.blocks(schedule, 60, &schedule.minutes),
            Frequency::Hour => self.blocks(schedule, 3600, &self.minutes_of(schedule)),
            Frequency::Day | Frequency::Week | Frequency::Month | Frequency::Year => self
                .dates()
                .filter(|day| self.chooses(schedule, *day))
                .flat_map(|day| self.times_on(schedule, day))
                .collect(),
        }
    }

    /// Every interval-th minute (hour) from the anchor's, and of each the instants that are allowed.
    fn blocks(&self, schedule: &Schedule, length: i64, minutes: &[i64]) -> Vec<i64> {
        let past_the_begin = wall_of(self.anchor).rem_euclid(length);
        let mut due: Vec<i64> = self
            .grid(self.anchor_at - past_the_begin, length)
            .into_iter()
            .flat_map(|from_at| self.clock.whole_minutes(from_at, from_at + length))
            .collect();
        due.retain(|at| {
            let reading = self.clock.reading(*at);
            allows(minutes, i64::from(reading.minute()))
                && allows(&hours_of(schedule), i64::from(reading.hour()))
                && allows(&schedule.months, i64::from(reading.month()))
        });
        due
    }

    /// 18.3 for Day, Week, Month and Year: the period counts, and the day is selected in it.
    fn chooses(&self, schedule: &Schedule, day: Date) -> bool {
        let month_allowed = allows(&schedule.months, i64::from(day.month()));
        let selected = match self.frequency {
            Frequency::Day => self.counts(day_number(day) - day_number(self.anchor.date())),
            Frequency::Week => {
                let selected = if schedule.week_days.is_empty() {
                    day.weekday() == self.anchor.date().weekday()
                } else {
                    schedule.week_days.iter().any(|one| one.index() == monday_based(day))
                };
                self.counts(week_number(day) - week_number(self.anchor.date())) && selected
            }
            Frequency::Month => self.counts(self.months_apart(day)) && self.selects_in_month(schedule, day),
            Frequency::Year => {
                let month_selected = !schedule.months.is_empty() || day.month() == self.anchor.month();
                self.counts(i64::from(day.year()) - i64::from(self.anchor.year()))
                    && month_selected
                    && self.selects_in_month(schedule, day)
            }
            Frequency::Minute | Frequency::Hour => unreachable!("these walk the real time line"),
        };
        month_allowed && selected
    }

    fn selects_in_month(&self, schedule: &Schedule, day: Date) -> bool {
        if schedule.month_days.is_empty() && schedule.monthly_occurrences.is_empty() {
            return self.keeps_day_of_month(day);
        }
        let number = i64::from(day.day());
        let from_the_end = number - i64::from(day.days_in_month()) - 1;
        schedule.month_days.iter().any(|one| *one == number || *one == from_the_end)
            || schedule.monthly_occurrences.iter().any(|one| occurs_on(*one, day))
    }

    /// 18.3 and 18.4: the instants of a chosen day.
    fn times_on(&self, schedule: &Schedule, day: Date) -> Vec<i64> {
        let wall = |hour: i64, minute: i64| day_number(day) * DAY + hour * 3600 + minute * 60;
        if schedule.hours.is_empty() && !schedule.minutes.is_empty() {
            let mut due = Vec::new();
            for hour in 0..24 {
                for minute in &schedule.minutes {
                    due.extend(self.clock.instants(wall(hour, *minute)));
                }
            }
            return due;
        }
        let hours = match hours_of(schedule) {
            hours if hours.is_empty() => vec![i64::from(self.anchor.hour())],
            hours => hours,
        };
        let mut due = Vec::new();
        for hour in hours {
            for minute in self.minutes_of(schedule) {
                due.push(self.clock.first_or_moved(wall(hour, minute)));
            }
        }
        due
    }

    fn minutes_of(&self, schedule: &Schedule) -> Vec<i64> {
        match schedule.minutes.as_slice() {
            [] => vec![i64::from(self.anchor.minute())],
            minutes => minutes.to_vec(),
        }
    }

    /// Whether a period this far from the anchor's is an interval-th one.
    fn counts(&self, periods: i64) -> bool {
        periods >= 0 && periods % self.interval == 0
    }

    fn months_apart(&self, day: Date) -> i64 {
        let months = |day: Date| i64::from(day.year()) * 12 + i64::from(day.month());
        months(day) - months(self.anchor.date())
    }

    /// The anchor's day of month, or the last day of a shorter month.
    fn keeps_day_of_month(&self, day: Date) -> bool {
        day.day() == self.anchor.day().min(day.days_in_month())
    }

    /// The instants first + k × interval × unit of the window, and one before it: a block that began
    /// before the window may reach into it.
    fn grid(&self, first_at: i64, unit: i64) -> Vec<i64> {
        let step = self.interval * unit;
        let skipped = ((self.from_at - first_at) / step - 1).max(0);
        (skipped..).map(|k| first_at + k * step).take_while(|at| *at <= self.until_at).collect()
    }

    /// The dates that the window touches, with a margin.
    fn dates(&self) -> impl Iterator<Item = Date> {
        let first = datetime_of(self.from_at.saturating_sub(MARGIN_DAYS * DAY)).date();
        let last = datetime_of(self.until_at.saturating_add(MARGIN_DAYS * DAY)).date();
        std::iter::successors(Some(first), |day| day.tomorrow().ok()).take_while(move |day| *day <= last)
    }
}

/// The second that an instant lies in, also before 1970.
fn seconds(at: Timestamp) -> i64 {
    i64::try_from(at.as_nanosecond().div_euclid(1_000_000_000)).unwrap()
}

/// No restriction, or one that holds.
fn allows(values: &[i64], value: i64) -> bool {
    values.is_empty() || values.contains(&value)
}

fn hours_of(schedule: &Schedule) -> Vec<i64> {
    schedule.hours.iter().map(|hour| hour % 24).collect()
}

fn monday_based(day: Date) -> u8 {
    u8::try_from(day.weekday().to_monday_zero_offset()).unwrap()
}

/// Weeks since the one that began on Monday, 1969-12-29.
fn week_number(day: Date) -> i64 {
    (day_number(day) + 3).div_euclid(7)
}

fn occurs_on(one: MonthlyOccurrence, day: Date) -> bool {
    if one.day.index() != monday_based(day) {
        return false;
    }
    let from_the_start = i64::from(day.day() - 1) / 7 + 1;
    let from_the_end = -(i64::from(day.days_in_month() - day.day()) / 7 + 1);
    one.occurrence.is_none_or(|number| number == from_the_start || number == from_the_end)
}
