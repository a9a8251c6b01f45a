//! A compiled rule, which answers one question: what comes next?
//!
//! There are three ways to answer it, one of which is chosen when the rule is compiled:
//!
//! - [`grid`]: no schedule; the k-th occurrence is computed, not searched.
//! - [`wall`]: chosen days times chosen wall-clock times. A wall time that the zone skips moves
//!   forward, one that it repeats is taken once.
//! - [`walk`] and [`blocks`]: real time, searched by leaps rather than minute by minute. A repeated hour counts
//!   twice, a skipped one not at all.
//!
//! No search begins at the start of the rule, so a rule that began in 1900 answers as fast as one of yesterday.
//! Counting does not walk from occurrence to occurrence: it takes at most a step for each month and each change
//! of the clocks between two instants, and time ends with the year 9999.

mod blocks;
#[cfg(test)]
mod bounds;
mod chosen;
mod cycle;
mod days;
mod due;
mod grid;
mod month_days;
mod months;
mod never;
mod times;
mod walk;
mod wall;

use jiff::{SignedDuration, Timestamp};

use self::blocks::Blocks;
pub use self::due::DueRange;
use self::grid::Grid;
use self::times::Times;
use self::walk::WholeHours;
use self::wall::WallTimes;
use crate::zone::{self, Zone};
use crate::{CheckedRule, Frequency, Start, describe};

/// The instants at which a job runs.
///
/// `count` is kept but not applied by [`next_after`](Self::next_after) and [`contains`](Self::contains): it
/// limits how many occurrences are *started*, which a timetable can't know. [`occurrences`](Self::occurrences)
/// applies it, as if each occurrence were started.
///
/// ```
/// use punctual_recurrence::{Frequency, Rule, Schedule, Start, Weekday};
///
/// let mut rule = Rule::every(1, Frequency::Week);
/// rule.schedule = Some(Schedule { week_days: vec![Weekday::Monday], hours: vec![9], minutes: vec![0], ..Schedule::default() });
/// rule.time_zone = Some("Europe/Berlin".into());
/// let start = Start { start_at: Some("2026-01-01T00:00:00Z".parse()?), put_at: "2026-03-26T00:00:00Z".parse()? };
/// let timetable = rule.check().unwrap().timetable(start);
///
/// let mut mondays = timetable.occurrences();
/// assert_eq!(mondays.next(), Some("2026-03-30T07:00:00Z".parse()?));
/// assert_eq!(timetable.describe(), "every week on Monday, at 09:00 Europe/Berlin");
/// # Ok::<(), jiff::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Timetable {
    start: Start,
    end_at: Option<Timestamp>,
    count: Option<u32>,
    pattern: Pattern,
    /// What [`describe`](Self::describe) describes; none for a job that runs once.
    rule: Option<CheckedRule>,
}

/// What a change of the clocks did to an occurrence.
///
/// ```
/// use punctual_recurrence::ClockNote;
///
/// assert_ne!(ClockNote::FirstOfTwo, ClockNote::RepeatedHour);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockNote {
    /// The clocks skip its wall time, so the occurrence is later by the length of the gap.
    Moved {
        /// The wall time that does not exist.
        wall: jiff::civil::DateTime,
    },
    /// The clocks show its wall time twice; only the first counts, and this is it.
    FirstOfTwo,
    /// It is in an hour that the clocks show twice, and both count.
    RepeatedHour,
}

/// 400 years in seconds.
const CALENDAR_SECONDS: i64 = crate::calendar::CALENDAR_DAYS * crate::calendar::DAY_SECONDS;

#[derive(Clone, Debug)]
enum Pattern {
    Once,
    Grid(Grid),
    Wall(WallTimes),
    WholeHours(WholeHours),
    Blocks(Blocks),
}

impl Timetable {
    /// A job that runs once: at its start time, or at once if that is past or absent.
    ///
    /// ```
    /// use punctual_recurrence::{Start, Timetable};
    ///
    /// let put_at = "2026-11-15T12:00:00Z".parse().unwrap();
    /// let once = Timetable::once(Start { start_at: Some("2020-01-01T00:00:00Z".parse().unwrap()), put_at });
    /// assert_eq!(once.first(), Some(put_at));
    /// assert_eq!(once.next_after(put_at), None);
    /// ```
    pub fn once(start: Start) -> Self {
        Self { start, end_at: None, count: Some(1), pattern: Pattern::Once, rule: None }
    }

    /// A job that never runs.
    ///
    /// ```
    /// assert_eq!(punctual_recurrence::Timetable::never().first(), None);
    /// ```
    pub fn never() -> Self {
        let start = Start { start_at: None, put_at: Timestamp::UNIX_EPOCH };
        let end_at = Some(Timestamp::MIN);
        Self { start, end_at, count: None, pattern: Pattern::Once, rule: None }
    }

    pub(crate) fn recurring(rule: &CheckedRule, start: Start) -> Self {
        Self {
            start,
            end_at: rule.end_at,
            count: rule.count,
            pattern: Pattern::of(rule, start.anchor_at()),
            rule: Some(rule.clone()),
        }
    }

    /// The first occurrence.
    ///
    /// ```
    /// # use punctual_recurrence::{Frequency, Rule, Start};
    /// let put_at = "2026-11-15T12:00:00Z".parse().unwrap();
    /// let timetable = Rule::every(1, Frequency::Day).check().unwrap().timetable(Start { start_at: None, put_at });
    /// assert_eq!(timetable.first(), Some(put_at));
    /// ```
    pub fn first(&self) -> Option<Timestamp> {
        self.at_or_after(self.not_before())
    }

    /// The first occurrence strictly after an instant.
    ///
    /// ```
    /// # use punctual_recurrence::{Frequency, Rule, Start};
    /// let put_at = "2026-11-15T12:00:00Z".parse().unwrap();
    /// let timetable = Rule::every(1, Frequency::Day).check().unwrap().timetable(Start { start_at: None, put_at });
    /// assert_eq!(timetable.next_after(put_at), Some("2026-11-16T12:00:00Z".parse().unwrap()));
    /// ```
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let from = Timestamp::from_nanosecond(after.as_nanosecond() + 1).ok()?;
        self.at_or_after(from)
    }

    /// The first occurrence at or after an instant.
    ///
    /// ```
    /// # use punctual_recurrence::{Frequency, Rule, Start};
    /// let put_at = "2026-11-15T12:00:00Z".parse().unwrap();
    /// let timetable = Rule::every(1, Frequency::Day).check().unwrap().timetable(Start { start_at: None, put_at });
    /// assert_eq!(timetable.at_or_after(put_at), Some(put_at));
    /// ```
    pub fn at_or_after(&self, from: Timestamp) -> Option<Timestamp> {
        let from = from.max(self.not_before());
        let due = match (&self.pattern, self.start.start_at) {
            (Pattern::Once, _) => Some(self.not_before()).filter(|&due| due >= from),
            // Without a start time the first occurrence is at the PUT, whatever the schedule says.
            (_, None) if from <= self.start.put_at => Some(self.start.put_at),
            (pattern, _) => pattern.at_or_after(from),
        };
        due.filter(|&due| self.end_at.is_none_or(|end_at| due <= end_at))
    }

    /// Whether an instant is an occurrence.
    ///
    /// ```
    /// # use punctual_recurrence::{Frequency, Rule, Start};
    /// let put_at = "2026-11-15T12:00:00Z".parse().unwrap();
    /// let timetable = Rule::every(1, Frequency::Day).check().unwrap().timetable(Start { start_at: None, put_at });
    /// assert!(timetable.contains("2026-12-24T12:00:00Z".parse().unwrap()));
    /// assert!(!timetable.contains("2026-12-24T12:00:01Z".parse().unwrap()));
    /// ```
    pub fn contains(&self, at: Timestamp) -> bool {
        self.at_or_after(at) == Some(at)
    }

    /// All occurrences from the first on, at most `count` of them.
    ///
    /// ```
    /// # use punctual_recurrence::{Frequency, Rule, Start};
    /// let put_at = "2026-11-15T12:00:00Z".parse().unwrap();
    /// let rule = Rule { count: Some(3), ..Rule::every(1, Frequency::Day) };
    /// let timetable = rule.check().unwrap().timetable(Start { start_at: None, put_at });
    /// assert_eq!(timetable.occurrences().count(), 3);
    /// ```
    pub fn occurrences(&self) -> impl Iterator<Item = Timestamp> + '_ {
        let limit = self.count.map_or(usize::MAX, |count| count as usize);
        std::iter::successors(self.first(), |&last| self.next_after(last)).take(limit)
    }

    /// The most occurrences that may be started; none if there is no limit.
    ///
    /// ```
    /// # use punctual_recurrence::{Start, Timetable};
    /// let put_at = "2026-11-15T12:00:00Z".parse().unwrap();
    /// assert_eq!(Timetable::once(Start { start_at: None, put_at }).count(), Some(1));
    /// ```
    pub fn count(&self) -> Option<u32> {
        self.count
    }

    /// Describes the timetable in plain English.
    ///
    /// ```
    /// # use punctual_recurrence::{Frequency, MonthlyOccurrence, Rule, Schedule, Start, Weekday};
    /// let mut rule = Rule::every(1, Frequency::Month);
    /// rule.schedule = Some(Schedule {
    ///     monthly_occurrences: vec![MonthlyOccurrence { day: Weekday::Friday, occurrence: Some(-1) }],
    ///     month_days: vec![1],
    ///     hours: vec![5, 17],
    ///     minutes: vec![15],
    ///     ..Schedule::default()
    /// });
    /// let start = Start { start_at: None, put_at: "2026-11-15T12:00:00Z".parse().unwrap() };
    /// assert_eq!(
    ///     rule.check().unwrap().timetable(start).describe(),
    ///     "every month on the last Friday and the 1st, at 05:15 and 17:15 UTC; the first time at once"
    /// );
    /// ```
    pub fn describe(&self) -> String {
        describe::describe(self.rule.as_ref(), self.start)
    }

    /// What a change of the clocks did to an occurrence: moved it, or showed its wall time twice. None for all
    /// others, and for instants that are no occurrence.
    ///
    /// ```
    /// use punctual_recurrence::{ClockNote, Frequency, Rule, Schedule, Start};
    ///
    /// let mut rule = Rule::every(1, Frequency::Day);
    /// rule.schedule = Some(Schedule { hours: vec![2], minutes: vec![30], ..Schedule::default() });
    /// rule.time_zone = Some("Europe/Berlin".into());
    /// let start_at = Some("2026-03-29T00:00:00Z".parse().unwrap());
    /// let timetable = rule.check().unwrap().timetable(Start { start_at, put_at: start_at.unwrap() });
    /// let first = timetable.first().unwrap();
    /// assert_eq!(first.to_string(), "2026-03-29T01:30:00Z");
    /// let Some(ClockNote::Moved { wall }) = timetable.clock_note(first) else { panic!("moved") };
    /// assert_eq!(wall.to_string(), "2026-03-29T02:30:00");
    /// ```
    pub fn clock_note(&self, at: Timestamp) -> Option<ClockNote> {
        let rule = self.rule.as_ref().filter(|_| self.contains(at))?;
        // The first occurrence without a start time is set by the PUT, not by the clocks.
        if self.start.anchor_at() == at {
            return None;
        }
        let second = floor_second(at);
        let local = second + rule.zone.offset_at(second);
        let resolved = rule.zone.resolve(local);
        let chosen = match &self.pattern {
            Pattern::Wall(times) => times.chooses(local),
            Pattern::Grid(grid) => {
                let second_of_day = grid.second_of_day()?;
                local.rem_euclid(crate::calendar::DAY_SECONDS) == second_of_day
            }
            Pattern::Once => return None,
            Pattern::WholeHours(_) | Pattern::Blocks(_) => {
                return resolved.plain_offset.is_none().then_some(ClockNote::RepeatedHour);
            }
        };
        if chosen {
            return resolved.plain_offset.is_none().then_some(ClockNote::FirstOfTwo);
        }
        let change =
            rule.zone.change_after(second - zone::QUIET_SECONDS).filter(|&change| change <= second)?;
        let wall = jiff::tz::Offset::UTC
            .to_datetime(Timestamp::from_second(second + rule.zone.offset_at(change - 1)).ok()?);
        Some(ClockNote::Moved { wall })
    }

    /// The earliest possible occurrence: neither before the start nor before the PUT.
    fn not_before(&self) -> Timestamp {
        self.start.start_at.map_or(self.start.put_at, |start_at| start_at.max(self.start.put_at))
    }
}

impl Pattern {
    fn of(rule: &CheckedRule, anchor_at: Timestamp) -> Self {
        let Some(choice) = &rule.choice else {
            return Self::Grid(Grid::new(rule, anchor_at));
        };
        let anchor = Anchor::new(&rule.zone, anchor_at);
        match rule.frequency {
            Frequency::Minute => Self::Blocks(Blocks::of_a_minute(rule, choice, &anchor)),
            Frequency::Hour => Self::Blocks(Blocks::of_an_hour(rule, choice, &anchor)),
            Frequency::Day | Frequency::Week | Frequency::Month | Frequency::Year => {
                match (choice.hours, choice.minutes) {
                    (None, Some(minutes)) => {
                        Self::WholeHours(WholeHours::new(rule, choice, &anchor, minutes))
                    }
                    (hours, minutes) => {
                        let hours = hours.unwrap_or(1 << (anchor.minute_of_day / 60));
                        let minutes = minutes.unwrap_or(1 << (anchor.minute_of_day % 60));
                        Self::Wall(WallTimes::new(rule, choice, &anchor, Times::new(hours, minutes)))
                    }
                }
            }
        }
    }

    fn at_or_after(&self, from: Timestamp) -> Option<Timestamp> {
        if let Self::Grid(grid) = self {
            return grid.at_or_after(from);
        }
        // Schedules yield whole seconds, so a fraction is rounded up.
        let second = ceil_second(from);
        let found = match self {
            Self::Once | Self::Grid(_) => None,
            Self::Wall(times) => times.at_or_after(second),
            Self::WholeHours(hours) => hours.at_or_after(second),
            Self::Blocks(blocks) => blocks.at_or_after(second),
        };
        found.and_then(|second| Timestamp::from_second(second).ok())
    }

    /// Counts the occurrences from one instant to another, both included. Neither is before the anchor.
    ///
    /// The calendar repeats after 400 years, from some year on so do the zones, and so do the occurrences after
    /// one or several times 400 years. Of a longer range only one such period is counted and then multiplied.
    fn count(&self, from: Timestamp, until: Timestamp) -> u64 {
        let calendars = match self {
            Self::Once => None,
            Self::Grid(grid) => grid.calendars(),
            Self::Wall(times) => Some(times.calendars()),
            Self::WholeHours(hours) => Some(hours.calendars()),
            Self::Blocks(blocks) => Some(blocks.calendars()),
        };
        let part = calendars.map_or(i64::MAX, |times| times.saturating_mul(CALENDAR_SECONDS));
        let repeating_from = floor_second(from).max(zone::REPEATING_FROM);
        let parts = (floor_second(until) - repeating_from).max(0) / part;
        let back = |seconds: i64| until.checked_sub(SignedDuration::from_secs(seconds)).ok();
        // Counts what is before the last period, and that period.
        match (back(parts.saturating_mul(part)), back((parts - 1).saturating_mul(part))) {
            (Some(begin), Some(end)) if parts > 1 => {
                let first = begin.checked_add(SignedDuration::from_nanos(1)).unwrap_or(end);
                self.count_through(from, begin) + parts.unsigned_abs() * self.count_through(first, end)
            }
            (_, _) => self.count_through(from, until),
        }
    }

    /// A bound of how many occurrences there are in a range of so many seconds.
    fn most(&self, seconds: u64) -> u64 {
        match self {
            Self::Once => 1,
            Self::Grid(grid) => grid.most(seconds),
            Self::Wall(times) => times.most(seconds),
            Self::WholeHours(hours) => hours.most(seconds),
            Self::Blocks(blocks) => blocks.most(seconds),
        }
    }

    fn count_through(&self, from: Timestamp, until: Timestamp) -> u64 {
        let (first, end) = (ceil_second(from), floor_second(until) + 1);
        let count = match self {
            Self::Once => 0,
            Self::Grid(grid) => return grid.count(from, until),
            Self::Wall(times) => times.count(first, end),
            Self::WholeHours(hours) => hours.count(first, end),
            Self::Blocks(blocks) => blocks.count(first, end),
        };
        u64::try_from(count).unwrap_or(0)
    }
}

/// The anchor on the wall clock of its zone.
struct Anchor {
    /// Seconds since 1970, without the fraction.
    second: i64,
    /// The day number.
    day: i64,
    minute_of_day: u32,
    /// Seconds since the full minute.
    second_of_minute: i64,
}

impl Anchor {
    fn new(zone: &Zone, at: Timestamp) -> Self {
        let second = floor_second(at);
        let local = second + zone.offset_at(second);
        let second_of_day = local.rem_euclid(crate::calendar::DAY_SECONDS);
        Self {
            second,
            day: local.div_euclid(crate::calendar::DAY_SECONDS),
            minute_of_day: u32::try_from(second_of_day / 60).expect("a day has 1440 minutes"),
            second_of_minute: second_of_day % 60,
        }
    }
}

fn floor_second(at: Timestamp) -> i64 {
    at.as_second() - i64::from(at.subsec_nanosecond() < 0)
}

fn ceil_second(at: Timestamp) -> i64 {
    at.as_second() + i64::from(at.subsec_nanosecond() > 0)
}
