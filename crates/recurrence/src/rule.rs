//! A recurrence as somebody wrote it.
//!
//! Numbers are wide and lists unsorted on purpose: [`Rule::check`](crate::Rule::check) reports every problem at
//! once, and a rule is shown again as it was written.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

/// How often a job recurs, as written. [`check`](Rule::check) it to get a timetable.
///
/// ```
/// use punctual_recurrence::{Frequency, Rule, Schedule};
///
/// let mut rule = Rule::every(1, Frequency::Day);
/// rule.schedule = Some(Schedule { hours: vec![5, 17], minutes: vec![15], ..Schedule::default() });
/// assert!(rule.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The unit that `interval` counts.
    pub frequency: Frequency,
    /// How many units lie between two periods; absent means 1.
    pub interval: Option<i64>,
    /// The job ends after this many occurrences were started.
    pub count: Option<i64>,
    /// No occurrence is due after this instant; one at exactly this instant is.
    pub end_at: Option<Timestamp>,
    /// Which days and times within the period; absent or empty means a plain grid from the anchor.
    pub schedule: Option<Schedule>,
    /// The IANA name of the zone whose wall clock the rule speaks of; absent means UTC.
    pub time_zone: Option<String>,
}

impl Rule {
    /// A plain rule: every `interval` units, endless, UTC.
    ///
    /// ```
    /// use punctual_recurrence::{Frequency, Rule};
    ///
    /// assert_eq!(Rule::every(2, Frequency::Week).interval, Some(2));
    /// ```
    pub fn every(interval: i64, frequency: Frequency) -> Self {
        Self {
            frequency,
            interval: Some(interval),
            count: None,
            end_at: None,
            schedule: None,
            time_zone: None,
        }
    }

    /// Whether two rules are equal, where a missing interval equals 1.
    ///
    /// ```
    /// use punctual_recurrence::{Frequency, Rule};
    ///
    /// let daily = Rule::every(1, Frequency::Day);
    /// assert!(daily.is_the_same_as(&Rule { interval: None, ..daily.clone() }));
    /// assert!(!daily.is_the_same_as(&Rule::every(2, Frequency::Day)));
    /// ```
    pub fn is_the_same_as(&self, other: &Self) -> bool {
        let spelt_out = |rule: &Self| Self { interval: Some(rule.interval.unwrap_or(1)), ..rule.clone() };
        spelt_out(self) == spelt_out(other)
    }
}

/// The unit of a recurrence.
///
/// ```
/// use punctual_recurrence::Frequency;
///
/// assert_eq!("MONTH".parse(), Ok(Frequency::Month));
/// assert_eq!(Frequency::Month.to_string(), "month");
/// assert!("second".parse::<Frequency>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Frequency {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

impl Frequency {
    /// All of them, the fastest first.
    pub const ALL: [Self; 6] = [Self::Minute, Self::Hour, Self::Day, Self::Week, Self::Month, Self::Year];

    /// The largest allowed interval: about 18 months for days, weeks and months.
    ///
    /// ```
    /// assert_eq!(punctual_recurrence::Frequency::Week.interval_max(), 78);
    /// ```
    pub fn interval_max(self) -> i64 {
        match self {
            Self::Minute | Self::Hour | Self::Year => 1000,
            Self::Day => 548,
            Self::Week => 78,
            Self::Month => 18,
        }
    }

    /// The name in lower case.
    ///
    /// ```
    /// assert_eq!(punctual_recurrence::Frequency::Hour.name(), "hour");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Frequency {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(text)).ok_or(UnknownName)
    }
}

/// A text that is none of the known names, in any letter case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownName;

/// A day of the week. The week begins on Monday.
///
/// ```
/// use punctual_recurrence::Weekday;
///
/// assert_eq!("friday".parse(), Ok(Weekday::Friday));
/// assert_eq!(Weekday::Friday.name(), "Friday");
/// assert_eq!(Weekday::Monday.index(), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl Weekday {
    /// All of them, Monday first.
    pub const ALL: [Self; 7] = [
        Self::Monday,
        Self::Tuesday,
        Self::Wednesday,
        Self::Thursday,
        Self::Friday,
        Self::Saturday,
        Self::Sunday,
    ];

    /// Days since Monday.
    ///
    /// ```
    /// assert_eq!(punctual_recurrence::Weekday::Sunday.index(), 6);
    /// ```
    pub fn index(self) -> u8 {
        self as u8
    }

    /// The English name.
    ///
    /// ```
    /// assert_eq!(punctual_recurrence::Weekday::Sunday.name(), "Sunday");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Monday => "Monday",
            Self::Tuesday => "Tuesday",
            Self::Wednesday => "Wednesday",
            Self::Thursday => "Thursday",
            Self::Friday => "Friday",
            Self::Saturday => "Saturday",
            Self::Sunday => "Sunday",
        }
    }
}

impl FromStr for Weekday {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(text)).ok_or(UnknownName)
    }
}

/// The days and times within a period at which a job runs. An empty list equals an absent one.
///
/// ```
/// use punctual_recurrence::Schedule;
///
/// assert!(Schedule::default().is_empty());
/// assert!(!Schedule { minutes: vec![0, 30], ..Schedule::default() }.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// 0 to 59.
    pub minutes: Vec<i64>,
    /// 0 to 23; 24 is read as 0.
    pub hours: Vec<i64>,
    /// With frequency week only.
    pub week_days: Vec<Weekday>,
    /// 1 to 31, or -1 (the last day) to -31; with frequency month and year only.
    pub month_days: Vec<i64>,
    /// Such as the last Friday; with frequency month and year only.
    pub monthly_occurrences: Vec<MonthlyOccurrence>,
    /// 1 to 12.
    pub months: Vec<i64>,
}

impl Schedule {
    /// Whether nothing is chosen, which makes the rule a plain grid.
    ///
    /// ```
    /// assert!(punctual_recurrence::Schedule::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.minutes.is_empty()
            && self.hours.is_empty()
            && self.week_days.is_empty()
            && self.month_days.is_empty()
            && self.monthly_occurrences.is_empty()
            && self.months.is_empty()
    }
}

/// A weekday within a month: the second Tuesday, the last Friday, or every Sunday.
///
/// ```
/// use punctual_recurrence::{MonthlyOccurrence, Weekday};
///
/// let last_friday = MonthlyOccurrence { day: Weekday::Friday, occurrence: Some(-1) };
/// assert_ne!(last_friday, MonthlyOccurrence { day: Weekday::Friday, occurrence: None });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonthlyOccurrence {
    /// The weekday.
    pub day: Weekday,
    /// 1 (the first) to 5, or -1 (the last) to -5; absent means each of them.
    pub occurrence: Option<i64>,
}

/// What a rule is counted from: the time of the PUT of the job, and its start time, if it has one.
///
/// ```
/// use punctual_recurrence::Start;
///
/// let put_at = "2026-11-15T12:00:00Z".parse().unwrap();
/// let start = Start { start_at: None, put_at };
/// assert_eq!(start.anchor_at(), put_at);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The start time of the job. Without one the first occurrence is at `put_at`.
    pub start_at: Option<Timestamp>,
    /// The time of the PUT. No occurrence is before it.
    pub put_at: Timestamp,
}

impl Start {
    /// The instant from which grids and periods are counted.
    ///
    /// ```
    /// # use punctual_recurrence::Start;
    /// let put_at = "2026-11-15T12:00:00Z".parse().unwrap();
    /// let start_at = Some("1999-12-31T23:59:59Z".parse().unwrap());
    /// assert_eq!(Start { start_at, put_at }.anchor_at(), start_at.unwrap());
    /// ```
    pub fn anchor_at(self) -> Timestamp {
        self.start_at.unwrap_or(self.put_at)
    }
}
