//! Every transition of every zone from 1970 to 2100, and what a rule does in the middle of it (18.4).
//!
//! What is expected is reckoned from the transition alone: a wall time `w` of a gap or fold is due at
//! `w - before`. In a gap that is `w` moved forward by the length of the gap, since
//! `(w + after - before) - after = w - before`; in a fold it is the first of the two.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use punctual_recurrence::{Frequency, Rule, Schedule, Start, Weekday};

use crate::timetable;
use crate::wall_clock::{WallClock, datetime_of};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// At `at` the clocks of a zone go from `before` to `after` seconds ahead of UTC.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Transition {
    at: i64,
    before: i64,
    after: i64,
    /// One of the zones that have it.
    zone: String,
}

/// Zones often do the same thing at the same instant: one of them stands for all.
static TRANSITIONS: LazyLock<Vec<Transition>> = LazyLock::new(|| {
    let (from_at, until_at) = (0, "2100-01-01T00:00:00Z".parse::<Timestamp>().unwrap().as_second());
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for name in jiff::tz::db().available() {
        let zone = name.to_string();
        let clock = WallClock::of(&TimeZone::get(&zone).unwrap(), from_at, until_at);
        for pair in clock.stretches().windows(2) {
            // So no other transition disturbs what is reckoned here from one of them.
            assert!(
                pair[1].until_at - pair[1].from_at > 4 * DAY,
                "{zone} changes twice in a few days: {pair:?}"
            );
            let (at, before, after) = (pair[1].from_at, pair[0].offset, pair[1].offset);
            if seen.insert((at, before, after)) {
                found.push(Transition { at, before, after, zone: zone.clone() });
            }
        }
    }
    found
});

impl Transition {
    /// A whole minute in the middle of the wall times that are missing or come twice.
    fn wall(&self) -> i64 {
        let middle = self.at + i64::midpoint(self.before, self.after);
        middle - middle.rem_euclid(60)
    }

    fn reading(&self) -> DateTime {
        datetime_of(self.wall())
    }

    fn offset_at(&self, at: i64) -> i64 {
        if at < self.at { self.before } else { self.after }
    }

    fn gap(&self) -> i64 {
        self.after - self.before
    }

    /// When that wall time is due on the day of the transition, and one day before and after. Where a
    /// whole day is missing it coincides with the day after.
    fn expected(&self) -> [Timestamp; 3] {
        let due_at = self.wall() - self.before;
        let next_at = self.wall() + DAY - self.after;
        let next_at = if next_at == due_at { next_at + DAY } else { next_at };
        [due_at - DAY, due_at, next_at].map(instant)
    }

    fn rule(&self, frequency: Frequency, schedule: Schedule) -> Rule {
        Rule { schedule: Some(schedule), time_zone: Some(self.zone.clone()), ..Rule::every(1, frequency) }
    }

    /// The wall time in the middle as a schedule.
    fn schedule(&self) -> Schedule {
        let reading = self.reading();
        Schedule {
            hours: vec![reading.hour().into()],
            minutes: vec![reading.minute().into()],
            ..Schedule::default()
        }
    }

    fn start(&self) -> Start {
        let start_at = instant(self.at - 2 * DAY);
        Start { start_at: Some(start_at), put_at: start_at }
    }
}

#[test]
fn there_are_gaps_and_folds_of_many_lengths() {
    let lengths: BTreeSet<i64> = TRANSITIONS.iter().map(|one| one.gap() / 60).collect();
    assert!(TRANSITIONS.len() > 9000, "{}", TRANSITIONS.len());
    for minutes in [15, 30, 45, 60, 120, 24 * 60, -30, -60, -120] {
        assert!(lengths.contains(&minutes), "no transition of {minutes} minutes among {lengths:?}");
    }
}

#[test]
fn a_daily_wall_time_in_a_gap_moves_forward_by_the_length_of_the_gap() {
    for transition in TRANSITIONS.iter().filter(|one| one.gap() > 0) {
        check_daily(transition);
    }
}

#[test]
fn a_daily_wall_time_in_a_fold_is_taken_once_the_first() {
    for transition in TRANSITIONS.iter().filter(|one| one.gap() < 0) {
        check_daily(transition);
        let daily = timetable(&transition.rule(Frequency::Day, transition.schedule()), transition.start());
        assert!(!daily.contains(instant(transition.wall() - transition.after)), "{transition:?}");
    }
}

fn check_daily(transition: &Transition) {
    let [previous_at, due_at, next_at] = transition.expected();
    let daily = timetable(&transition.rule(Frequency::Day, transition.schedule()), transition.start());
    assert!(daily.contains(previous_at), "{transition:?}");
    assert_eq!(daily.next_after(previous_at), Some(due_at), "{transition:?}");
    assert_eq!(daily.next_after(due_at), Some(next_at), "{transition:?}");
}

#[test]
fn a_plain_daily_grid_keeps_its_wall_time_and_its_fraction() {
    let later = SignedDuration::from_millis(30_500);
    for transition in TRANSITIONS.iter() {
        let [previous_at, due_at, next_at] = transition.expected().map(|at| at + later);
        let rule = Rule { time_zone: Some(transition.zone.clone()), ..Rule::every(1, Frequency::Day) };
        let daily = timetable(&rule, Start { start_at: Some(previous_at), put_at: previous_at });
        let due: Vec<Timestamp> = daily.occurrences().take(3).collect();
        assert_eq!(due, [previous_at, due_at, next_at], "{transition:?}");
    }
}

#[test]
fn a_day_chosen_by_week_month_or_year_obeys_the_same_rule() {
    for transition in TRANSITIONS.iter() {
        let reading = transition.reading();
        let by_week = Schedule { week_days: vec![weekday_of(reading.date())], ..transition.schedule() };
        let by_month = Schedule { month_days: vec![reading.day().into()], ..transition.schedule() };
        let by_year = Schedule { months: vec![reading.month().into()], ..by_month.clone() };
        let chosen = [(Frequency::Week, by_week), (Frequency::Month, by_month), (Frequency::Year, by_year)];
        for (frequency, schedule) in chosen {
            let first = timetable(&transition.rule(frequency, schedule), transition.start()).first();
            assert_eq!(first, Some(transition.expected()[1]), "{frequency} {transition:?}");
        }
    }
}

#[test]
fn two_wall_times_that_coincide_fire_once() {
    let whole_hours =
        TRANSITIONS.iter().filter(|one| one.gap() > 0 && one.gap() < DAY && one.gap() % HOUR == 0);
    for transition in whole_hours {
        let [_, due_at, _] = transition.expected();
        let (wall, moved) = (transition.wall(), transition.wall() + transition.gap());
        let mut schedule = transition.schedule();
        schedule.hours.push(datetime_of(moved).hour().into());
        let daily = timetable(&transition.rule(Frequency::Day, schedule), transition.start());
        // Around midnight the two are on different days, but still nothing else is due between these.
        let before_at = instant(moved - DAY - transition.before);
        let after_at = instant(wall + DAY - transition.after);
        assert!(daily.contains(before_at), "{transition:?}");
        assert_eq!(daily.next_after(before_at), Some(due_at), "{transition:?}");
        assert_eq!(daily.next_after(due_at), Some(after_at), "{transition:?}");
    }
}

#[test]
fn minutes_without_hours_walk_the_real_time_line() {
    for transition in TRANSITIONS.iter() {
        check_walk(transition, &transition.rule(Frequency::Day, at_minute(transition)), |_| true);
    }
}

#[test]
fn minutes_without_hours_walk_the_real_time_line_of_a_single_day() {
    for transition in TRANSITIONS.iter() {
        let day = transition.reading().date();
        let schedule = Schedule { week_days: vec![weekday_of(day)], ..at_minute(transition) };
        let on_that_day = |at| datetime_of(at + transition.offset_at(at)).date() == day;
        check_walk(transition, &transition.rule(Frequency::Week, schedule), on_that_day);
    }
}

#[test]
fn hour_walks_the_real_time_line() {
    for transition in TRANSITIONS.iter() {
        check_walk(transition, &transition.rule(Frequency::Hour, at_minute(transition)), |_| true);
    }
}

#[test]
fn minute_walks_the_real_time_line() {
    for transition in TRANSITIONS.iter() {
        check_walk(transition, &transition.rule(Frequency::Minute, at_minute(transition)), |_| true);
    }
}

#[test]
fn every_second_hour_is_a_block_of_60_minutes_from_the_anchors_local_hour() {
    for transition in TRANSITIONS.iter() {
        let start_at = transition.start().anchor_at().as_second();
        let first_at = start_at - (start_at + transition.before).rem_euclid(HOUR);
        let rule = Rule { interval: Some(2), ..transition.rule(Frequency::Hour, at_minute(transition)) };
        check_walk(transition, &rule, |at| (at - first_at).rem_euclid(2 * HOUR) < HOUR);
    }
}

fn weekday_of(day: Date) -> Weekday {
    Weekday::ALL[usize::try_from(day.weekday().to_monday_zero_offset()).unwrap()]
}

fn at_minute(transition: &Transition) -> Schedule {
    Schedule { minutes: vec![transition.reading().minute().into()], ..Schedule::default() }
}

/// Every instant around the transition whose local minute is the schedule's and that the filter keeps.
fn check_walk(transition: &Transition, rule: &Rule, kept: impl Fn(i64) -> bool) {
    let minute = i64::from(transition.reading().minute());
    let around = 2 * HOUR + transition.gap().abs();
    let (from_at, until_at) = (transition.at - around, transition.at + around);
    // Steps of 30 seconds, because Monrovia's offset had a half minute.
    let expected: Vec<Timestamp> = (from_at..=until_at)
        .step_by(30)
        .filter(|at| (at + transition.offset_at(*at)).rem_euclid(HOUR) == minute * 60 && kept(*at))
        .map(instant)
        .collect();

    let walk = timetable(rule, transition.start());
    let after = |at: Timestamp| walk.next_after(at).filter(|at| at.as_second() <= until_at);
    let due: Vec<Timestamp> = std::iter::successors(after(instant(from_at - 1)), |at| after(*at)).collect();
    assert_eq!(due, expected, "{rule:?} {transition:?}");
}

fn instant(at: i64) -> Timestamp {
    Timestamp::from_second(at).unwrap()
}
