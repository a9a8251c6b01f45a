//! The occurrences between two instants: how many there are, and which are the last.
//!
//! A job of every minute that was off for a year, or a window in the year 9990, has millions of occurrences
//! before it. They are counted by arithmetic, and the last ones are found by bisection.

use jiff::Timestamp;

use super::{Pattern, Timetable};
use crate::CheckedRule;
use crate::steps::step;

/// A range of consecutive occurrences.
///
/// ```
/// use punctual_recurrence::{Start, Timetable};
///
/// let put_at = "2026-11-15T12:00:00Z".parse().unwrap();
/// let due = Timetable::once(Start { start_at: None, put_at }).due_between(jiff::Timestamp::MIN, put_at);
/// assert_eq!(due.map(|due| due.count), Some(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueRange {
    /// The first of them.
    pub first: Timestamp,
    /// The last of them.
    pub last: Timestamp,
    /// The one before the last, if there is more than one.
    pub before_last: Option<Timestamp>,
    /// How many there are.
    pub count: u64,
}

/// Up to this many occurrences are visited one by one; beyond it arithmetic is faster.
const WALKED_MAX: u64 = 16;

/// Schedules yield whole minutes, so a search for the last occurrence begins this long before the end.
const MINUTE_NANOSECONDS: i128 = 60_000_000_000;

impl Timetable {
    /// The occurrences in `(after, until]`; none if there are none. `count` is not applied.
    ///
    /// ```
    /// # use punctual_recurrence::{Frequency, Rule, Start};
    /// let put_at = "2026-11-15T12:00:00Z".parse().unwrap();
    /// let timetable = Rule::every(1, Frequency::Day).check().unwrap().timetable(Start { start_at: None, put_at });
    /// let due = timetable.due_between(put_at, "2026-11-20T00:00:00Z".parse().unwrap()).unwrap();
    /// assert_eq!((due.count, due.last.to_string().as_str()), (4, "2026-11-19T12:00:00Z"));
    /// ```
    pub fn due_between(&self, after: Timestamp, until: Timestamp) -> Option<DueRange> {
        let first = self.next_after(after).filter(|&first| first <= until)?;
        if let Pattern::Grid(grid) = &self.pattern
            && let Some(due) = grid.due_between(first, self.end_at.map_or(until, |end_at| end_at.min(until)))
        {
            return Some(due);
        }
        let mut due = DueRange { first, last: first, before_last: None, count: 1 };
        while let Some(next) = self.next_after(due.last).filter(|&next| next <= until) {
            step();
            due = DueRange { before_last: Some(due.last), last: next, count: due.count + 1, ..due };
            if due.count == WALKED_MAX {
                let last = self.last_until(due.last, until);
                let before_last = Some(self.last_until(first, before(last)));
                return Some(DueRange { first, last, before_last, count: self.count_between(after, until) });
            }
        }
        Some(due)
    }

    /// Counts the occurrences in `(after, until]`. `count` is not applied.
    ///
    /// Takes at most a step for each month and for each change of the clocks in between.
    ///
    /// ```
    /// # use punctual_recurrence::{Frequency, Rule, Schedule, Start};
    /// let mut rule = Rule::every(1, Frequency::Day);
    /// rule.schedule = Some(Schedule { hours: vec![9, 17], minutes: vec![0], ..Schedule::default() });
    /// rule.time_zone = Some("Europe/Berlin".into());
    /// let start_at = "2026-01-01T00:00:00Z".parse().unwrap();
    /// let timetable = rule.check().unwrap().timetable(Start { start_at: Some(start_at), put_at: start_at });
    /// let until = "9990-01-01T00:00:00Z".parse().unwrap();
    /// assert_eq!(timetable.count_between(start_at, until), 2 * 2_908_791);
    /// ```
    pub fn count_between(&self, after: Timestamp, until: Timestamp) -> u64 {
        let until = self.end_at.map_or(until, |end_at| end_at.min(until));
        let Some(from) = tick_after(after).map(|from| from.max(self.not_before())) else { return 0 };
        if from > until {
            return 0;
        }
        match (&self.pattern, self.start.start_at) {
            (Pattern::Once, _) => u64::from(from == self.not_before()),
            // Without a start time the first occurrence is at the PUT, whatever the schedule says.
            (pattern, None) if from == self.start.put_at => {
                1 + tick_after(from)
                    .filter(|&from| from <= until)
                    .map_or(0, |from| pattern.count(from, until))
            }
            (pattern, _) => pattern.count(from, until),
        }
    }

    /// Returns a bound of [`count_between`](Self::count_between): there are not more, perhaps fewer. Takes no step,
    /// so that whoever only needs to know whether there can be so many need not have them counted.
    ///
    /// ```
    /// # use punctual_recurrence::{Frequency, Rule, Start};
    /// let put_at = "2026-01-01T00:00:00Z".parse().unwrap();
    /// let timetable = Rule::every(1, Frequency::Day).check().unwrap().timetable(Start { start_at: None, put_at });
    /// let until = "9990-01-01T00:00:00Z".parse().unwrap();
    /// assert!(timetable.most_between(put_at, until) < 3_000_000);
    /// ```
    pub fn most_between(&self, after: Timestamp, until: Timestamp) -> u64 {
        let seconds = u64::try_from(until.as_second() - after.as_second()).unwrap_or(0) + 1;
        // And the one at the PUT.
        1 + self.pattern.most(seconds)
    }

    /// The last occurrence before an instant; none if there is none. `count` is not applied.
    ///
    /// ```
    /// # use punctual_recurrence::{Frequency, Rule, Start};
    /// let put_at = "2026-11-15T12:00:00Z".parse().unwrap();
    /// let timetable = Rule::every(1, Frequency::Day).check().unwrap().timetable(Start { start_at: None, put_at });
    /// let last = timetable.last_before("2026-11-20T12:00:00Z".parse().unwrap()).unwrap();
    /// assert_eq!(last.to_string(), "2026-11-19T12:00:00Z");
    /// assert_eq!(timetable.last_before(put_at), None);
    /// ```
    pub fn last_before(&self, at: Timestamp) -> Option<Timestamp> {
        let until = before(at);
        let first = self.first().filter(|&first| first <= until)?;
        Some(self.last_until(first, until))
    }

    /// The last occurrence up to and including `until`, given that `known` is an occurrence before it.
    fn last_until(&self, known: Timestamp, until: Timestamp) -> Timestamp {
        // Ended at `until`, so that a search that finds nothing stops there.
        let ended = self.ended_at(until);
        let mut last = known;
        // No occurrence is later than this.
        let mut bound = until.as_nanosecond();
        let mut back = MINUTE_NANOSECONDS;
        while let Some(found) = ended.next_after(last) {
            step();
            last = found;
            let begin = bound - back;
            let middle = last.as_nanosecond() + (bound - last.as_nanosecond()) / 2;
            // Looks close to the end first, then bisects.
            let asked = instant(begin.max(middle));
            match ended.next_after(asked) {
                Some(found) => last = found,
                None => bound = asked.as_nanosecond(),
            }
            back *= 2;
        }
        last
    }

    /// The same timetable with an earlier end.
    fn ended_at(&self, until: Timestamp) -> Self {
        let end_at = Some(self.end_at.map_or(until, |end_at| end_at.min(until)));
        match &self.rule {
            None => Self { end_at, ..self.clone() },
            Some(rule) => Self::recurring(&CheckedRule { end_at, ..rule.clone() }, self.start),
        }
    }
}

fn tick_after(at: Timestamp) -> Option<Timestamp> {
    Timestamp::from_nanosecond(at.as_nanosecond() + 1).ok()
}

fn before(at: Timestamp) -> Timestamp {
    instant(at.as_nanosecond() - 1)
}

/// The instant of a nanosecond, clamped to the range of time.
fn instant(nanosecond: i128) -> Timestamp {
    let held = nanosecond.clamp(Timestamp::MIN.as_nanosecond(), Timestamp::MAX.as_nanosecond());
    Timestamp::from_nanosecond(held).expect("held within the range")
}
