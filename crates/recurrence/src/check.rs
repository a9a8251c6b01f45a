//! Checks a rule against every limit and reports all problems at once.

use jiff::Timestamp;

use crate::zone::Zone;
use crate::{Frequency, Problem, Rule, Schedule, Start, Timetable};

/// The largest `count` that a rule may have.
const COUNT_MAX: i64 = 2_147_483_647;

/// A rule that is within all limits. Make a [`Timetable`] of it to ask when a job runs.
///
/// ```
/// use punctual_recurrence::{Frequency, Rule, Start};
///
/// let put_at = "2026-11-15T12:00:00Z".parse().unwrap();
/// let timetable = Rule::every(1, Frequency::Hour).check().unwrap().timetable(Start { start_at: None, put_at });
/// assert_eq!(timetable.first(), Some(put_at));
/// ```
#[derive(Clone, Debug)]
pub struct CheckedRule {
    pub(crate) frequency: Frequency,
    pub(crate) interval: i64,
    pub(crate) count: Option<u32>,
    pub(crate) end_at: Option<Timestamp>,
    pub(crate) choice: Option<Choice>,
    pub(crate) zone: Zone,
    pub(crate) zone_name: Option<String>,
}

/// A schedule as sets of bits; a list that was absent or empty is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Bit 0 to 59.
    pub(crate) minutes: Option<u64>,
    /// Bit 0 to 23.
    pub(crate) hours: Option<u32>,
    /// Bit 0 (Monday) to 6.
    pub(crate) week_days: Option<u8>,
    /// Whether days of the month were chosen at all, by either list.
    pub(crate) month_days_chosen: bool,
    /// Bit 1 to 31, counted from the first day of the month.
    pub(crate) days_from_begin: u32,
    /// Bit 1 to 31, counted from the last day of the month.
    pub(crate) days_from_end: u32,
    /// For each weekday: bit 1 to 5, counted from the start of the month.
    pub(crate) weekdays_from_begin: [u8; 7],
    /// For each weekday: bit 1 to 5, counted from the end of the month.
    pub(crate) weekdays_from_end: [u8; 7],
    /// Bit 1 to 12.
    pub(crate) months: Option<u16>,
}

impl Rule {
    /// Checks the rule. Reports every problem, not only the first, each with its JSON path below the
    /// recurrence.
    ///
    /// ```
    /// use punctual_recurrence::{Frequency, Rule, Schedule};
    ///
    /// let mut rule = Rule::every(0, Frequency::Day);
    /// rule.schedule = Some(Schedule { hours: vec![5, 25], ..Schedule::default() });
    /// let paths: Vec<_> = rule.check().unwrap_err().into_iter().map(|problem| problem.path).collect();
    /// assert_eq!(paths, ["interval", "schedule.hours[1]"]);
    /// ```
    pub fn check(&self) -> Result<CheckedRule, Vec<Problem>> {
        let mut problems = Vec::new();
        let interval = self.check_interval(&mut problems);
        let count = self.check_count(&mut problems);
        let schedule = self.schedule.as_ref().filter(|schedule| !schedule.is_empty());
        let choice = schedule.map(|schedule| check_schedule(schedule, self.frequency, &mut problems));
        let zone = self.check_zone(&mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(CheckedRule {
            frequency: self.frequency,
            interval,
            count,
            end_at: self.end_at,
            choice,
            zone,
            zone_name: self.time_zone.clone(),
        })
    }

    /// The problems that do not depend on the frequency. For rules whose frequency could not be read, so that a
    /// wrong frequency does not hide other problems.
    ///
    /// ```
    /// use punctual_recurrence::{Frequency, Rule};
    ///
    /// let rule = Rule { count: Some(0), ..Rule::every(0, Frequency::Day) };
    /// let problems: Vec<_> = rule.problems_of_any_frequency().iter().map(ToString::to_string).collect();
    /// assert_eq!(problems, ["interval: must be from 1 to 1000, not 0", "count: must be from 1 to 2147483647, not 0"]);
    /// ```
    pub fn problems_of_any_frequency(&self) -> Vec<Problem> {
        let with = |frequency| Self { frequency, ..self.clone() }.check().err().unwrap_or_default();
        let [first, others @ ..] = Frequency::ALL;
        let others = others.map(with);
        let everywhere = |problem: &Problem| {
            others.iter().all(|problems| problems.iter().any(|other| other.path == problem.path))
        };
        let mut problems: Vec<_> = with(first).into_iter().filter(everywhere).collect();
        if let Some(interval) = problems.iter_mut().find(|problem| problem.path == "interval") {
            let max = Frequency::ALL.map(Frequency::interval_max).into_iter().max().unwrap_or(1);
            interval.message = format!("must be from 1 to {max}, not {}", self.interval.unwrap_or(1));
        }
        problems
    }

    fn check_interval(&self, problems: &mut Vec<Problem>) -> i64 {
        let interval = self.interval.unwrap_or(1);
        let max = self.frequency.interval_max();
        if !(1..=max).contains(&interval) {
            let message =
                format!("must be from 1 to {max} with frequency {}, not {interval}", self.frequency);
            problems.push(Problem::new("interval", message));
        }
        interval
    }

    fn check_count(&self, problems: &mut Vec<Problem>) -> Option<u32> {
        let count = self.count?;
        if !(1..=COUNT_MAX).contains(&count) {
            problems.push(Problem::new("count", format!("must be from 1 to {COUNT_MAX}, not {count}")));
        }
        u32::try_from(count).ok()
    }

    fn check_zone(&self, problems: &mut Vec<Problem>) -> Zone {
        let Some(name) = &self.time_zone else { return Zone::Utc };
        Zone::named(name).unwrap_or_else(|| {
            let message = format!("'{name}' is not the IANA name of a time zone, such as Europe/Berlin");
            problems.push(Problem::new("timeZone", message));
            Zone::Utc
        })
    }
}

impl CheckedRule {
    /// The timetable of this rule for a job with this start.
    ///
    /// ```
    /// # use punctual_recurrence::{Frequency, Rule, Start};
    /// let rule = Rule::every(2, Frequency::Day).check().unwrap();
    /// let start_at = Some("2015-04-07T14:00:00Z".parse().unwrap());
    /// let timetable = rule.timetable(Start { start_at, put_at: "2015-04-08T13:00:00Z".parse().unwrap() });
    /// assert_eq!(timetable.first(), Some("2015-04-09T14:00:00Z".parse().unwrap()));
    /// ```
    pub fn timetable(&self, start: Start) -> Timetable {
        Timetable::recurring(self, start)
    }

    /// The most occurrences that may be started; none if there is no limit.
    ///
    /// ```
    /// # use punctual_recurrence::{Frequency, Rule};
    /// let rule = Rule { count: Some(7), ..Rule::every(1, Frequency::Day) };
    /// assert_eq!(rule.check().unwrap().count(), Some(7));
    /// ```
    pub fn count(&self) -> Option<u32> {
        self.count
    }
}

fn check_schedule(schedule: &Schedule, frequency: Frequency, problems: &mut Vec<Problem>) -> Choice {
    let unit = capitalized(frequency);
    let by_month = matches!(frequency, Frequency::Month | Frequency::Year);
    let mut misplaced = |chosen: bool, fits: bool, member: &str, what: &str| {
        if chosen && !fits {
            let message = format!("Cannot set {what} with recurrence unit '{unit}'.");
            problems.push(Problem::new(format!("schedule.{member}"), message));
        }
    };
    let weekly = frequency == Frequency::Week;
    misplaced(!schedule.week_days.is_empty(), weekly, "weekDays", "days of week");
    misplaced(!schedule.month_days.is_empty(), by_month, "monthDays", "days of month");
    misplaced(
        !schedule.monthly_occurrences.is_empty(),
        by_month,
        "monthlyOccurrences",
        "monthly occurrences",
    );

    let mut choice = Choice {
        minutes: check_set(&schedule.minutes, "minutes", 0, 59, problems),
        hours: check_set(&schedule.hours, "hours", 0, 24, problems).map(hour_24_is_0),
        months: check_set(&schedule.months, "months", 1, 12, problems).map(|bits| low_bits(bits) as u16),
        month_days_chosen: !schedule.month_days.is_empty() || !schedule.monthly_occurrences.is_empty(),
        ..Choice::default()
    };
    if !schedule.week_days.is_empty() {
        let bits = schedule.week_days.iter().fold(0, |bits, day| bits | 1 << day.index());
        choice.week_days = Some(bits);
    }
    for (index, &day) in schedule.month_days.iter().enumerate() {
        match day {
            1..=31 => choice.days_from_begin |= 1 << day,
            -31..=-1 => choice.days_from_end |= 1 << -day,
            _ => {
                let message =
                    format!("must be from 1 to 31, or from -31 to -1 counted from the end, not {day}");
                problems.push(Problem::new(format!("schedule.monthDays[{index}]"), message));
            }
        }
    }
    for (index, one) in schedule.monthly_occurrences.iter().enumerate() {
        let day = usize::from(one.day.index());
        match one.occurrence {
            None => choice.weekdays_from_begin[day] = 0b11_1110,
            Some(nth @ 1..=5) => choice.weekdays_from_begin[day] |= 1 << nth,
            Some(nth @ -5..=-1) => choice.weekdays_from_end[day] |= 1 << -nth,
            Some(nth) => {
                let message =
                    format!("must be from 1 to 5, or from -5 to -1 counted from the end, not {nth}");
                problems
                    .push(Problem::new(format!("schedule.monthlyOccurrences[{index}].occurrence"), message));
            }
        }
    }
    choice
}

/// A list of small numbers as a set of bits; every number outside the range is a problem of its own.
fn check_set(list: &[i64], member: &str, min: i64, max: i64, problems: &mut Vec<Problem>) -> Option<u64> {
    let mut bits = 0;
    for (index, &one) in list.iter().enumerate() {
        if (min..=max).contains(&one) {
            bits |= 1 << one;
        } else {
            let message = format!("must be from {min} to {}, not {one}", shown_max(member, max));
            problems.push(Problem::new(format!("schedule.{member}[{index}]"), message));
        }
    }
    (!list.is_empty()).then_some(bits)
}

/// Hour 24 is accepted, but messages name 23 as the largest.
fn shown_max(member: &str, max: i64) -> i64 {
    if member == "hours" { 23 } else { max }
}

fn hour_24_is_0(bits: u64) -> u32 {
    low_bits(bits & 0xff_ffff) | low_bits(bits >> 24)
}

fn low_bits(bits: u64) -> u32 {
    u32::try_from(bits).expect("at most 25 bits are in use")
}

fn capitalized(frequency: Frequency) -> &'static str {
    match frequency {
        Frequency::Minute => "Minute",
        Frequency::Hour => "Hour",
        Frequency::Day => "Day",
        Frequency::Week => "Week",
        Frequency::Month => "Month",
        Frequency::Year => "Year",
    }
}

impl Start {
    /// Checks that the start is at most `ahead_months_max` months ahead.
    ///
    /// ```
    /// # use punctual_recurrence::Start;
    /// let put_at = "2026-11-15T12:00:00Z".parse().unwrap();
    /// let start = Start { start_at: Some("2028-05-15T12:00:00Z".parse().unwrap()), put_at };
    /// assert!(start.check(18).is_ok());
    /// assert!(start.check(17).is_err());
    /// ```
    pub fn check(self, ahead_months_max: u32) -> Result<(), Problem> {
        let Some(start_at) = self.start_at else { return Ok(()) };
        // A limit beyond the end of the calendar is no limit.
        let limit = jiff::Span::new()
            .try_months(ahead_months_max)
            .and_then(|months| self.put_at.to_zoned(jiff::tz::TimeZone::UTC).checked_add(months))
            .map_or(Timestamp::MAX, |limit| limit.timestamp());
        if start_at > limit {
            let message = format!("must be at most {ahead_months_max} months ahead, not {start_at}");
            return Err(Problem::new("startTime", message));
        }
        Ok(())
    }
}
