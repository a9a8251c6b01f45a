//! Every search through time has a bound. The tests count steps rather than seconds, so that the speed of a
//! machine plays no part.

use jiff::Timestamp;

use super::Timetable;
use crate::steps;
use crate::{Frequency, MonthlyOccurrence, Rule, Schedule, Start, Weekday};

use Frequency::{Day, Hour, Minute, Month, Week, Year};

/// From 2026 to the year 9999, 16 steps a year: two changes of the clocks, and twelve months or spans of them.
const WHOLE_TIME_STEPS: u64 = 16 * 8_000;

const ZONES: [Option<&str>; 4] =
    [None, Some("Europe/Berlin"), Some("Australia/Lord_Howe"), Some("Africa/Casablanca")];

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn timetable(rule: &Rule, zone: Option<&str>, start: &str) -> Timetable {
    let rule = Rule { time_zone: zone.map(str::to_owned), ..rule.clone() };
    rule.check().unwrap().timetable(Start { start_at: Some(at(start)), put_at: at(start) })
}

fn with(frequency: Frequency, interval: i64, schedule: Schedule) -> Rule {
    Rule { schedule: Some(schedule), ..Rule::every(interval, frequency) }
}

fn times(hours: &[i64], minutes: &[i64]) -> Schedule {
    Schedule { hours: hours.to_vec(), minutes: minutes.to_vec(), ..Schedule::default() }
}

fn all_minutes() -> Vec<i64> {
    (0..60).collect()
}

/// Rules of every pattern that are due at least every few years.
fn usual() -> Vec<Rule> {
    let last_friday = MonthlyOccurrence { day: Weekday::Friday, occurrence: Some(-1) };
    vec![
        Rule::every(1, Minute),
        Rule::every(7, Hour),
        Rule::every(1, Day),
        Rule::every(1, Month),
        Rule::every(1, Year),
        with(Minute, 1, times(&[9], &[])),
        with(Minute, 997, times(&[9], &[])),
        with(Minute, 1, Schedule { months: vec![2, 5], ..times(&[], &[]) }),
        with(Hour, 1, times(&[], &all_minutes())),
        with(Hour, 37, Schedule { months: vec![7], ..times(&[], &[15]) }),
        with(Day, 1, times(&(0..24).collect::<Vec<_>>(), &all_minutes())),
        with(Day, 1, times(&[], &all_minutes())),
        with(Day, 3, Schedule { months: vec![1, 3, 12], ..times(&[2, 3], &[0, 30]) }),
        with(Week, 2, Schedule { week_days: vec![Weekday::Sunday, Weekday::Monday], ..times(&[2], &[30]) }),
        with(Month, 1, Schedule { month_days: vec![-1, 31, 1], ..times(&[2, 3], &[0]) }),
        with(Month, 5, Schedule { monthly_occurrences: vec![last_friday], ..times(&[], &[5]) }),
        with(Year, 1, Schedule { months: vec![2], month_days: vec![29], ..times(&[12], &[0]) }),
    ]
}

/// Rules that are due once in centuries, or never.
fn seldom() -> Vec<Rule> {
    let months = |months: &[i64], schedule: Schedule| Schedule { months: months.to_vec(), ..schedule };
    let days = |months: &[i64], days: &[i64]| Schedule {
        months: months.to_vec(),
        month_days: days.to_vec(),
        ..times(&[12], &[0])
    };
    let fifth_monday = MonthlyOccurrence { day: Weekday::Monday, occurrence: Some(5) };
    vec![
        // Three times 487 days are four years.
        with(Day, 487, months(&[2], times(&[6], &[0]))),
        with(Minute, 974, months(&[2], times(&[6], &[0]))),
        with(Minute, 487, months(&[2], times(&[6], &[0, 1]))),
        with(Hour, 487, months(&[2], times(&[6], &[]))),
        // 365 days are a year.
        with(Day, 365, months(&[3], times(&[], &[0]))),
        with(Hour, 365, months(&[3], times(&[6], &[]))),
        with(Hour, 730, times(&[6], &[])),
        with(Week, 52, months(&[1], times(&[1], &[1]))),
        with(Minute, 60, times(&[], &[30])),
        with(Hour, 1000, times(&[1], &[])),
        with(Hour, 2, months(&[7], times(&[2, 12], &[]))),
        with(Month, 12, days(&[3], &[1])),
        with(Month, 11, Schedule { monthly_occurrences: vec![fifth_monday], ..days(&[2], &[]) }),
        with(Year, 1000, days(&[2], &[29])),
        with(Year, 1, days(&[2], &[30])),
    ]
}

fn each(rules: Vec<Rule>, check: impl Fn(&str, &Timetable)) {
    for rule in rules {
        for zone in ZONES {
            let timetable = timetable(&rule, zone, "2025-04-01T12:00:00Z");
            check(&format!("{} {zone:?}", timetable.describe()), &timetable);
        }
    }
}

#[test]
fn the_next_occurrence_takes_few_steps_wherever_it_lies() {
    let asked =
        ["2026-03-28T20:00:00Z", "2026-03-29T00:59:59Z", "2026-10-25T12:00:00Z", "9990-01-01T00:00:00Z"];
    each(usual(), |name, timetable| {
        for asked in asked {
            let (steps, next) = steps::count(|| timetable.next_after(at(asked)));
            assert!(next.is_some(), "{name} after {asked}");
            // A cycle is counted through, for one or two offsets.
            assert!(steps < 3_000, "{steps} steps: {name} after {asked}");
        }
    });
}

#[test]
fn a_page_takes_few_steps_a_row_wherever_it_lies() {
    for from in ["2026-03-28T20:00:00Z", "2026-10-24T20:00:00Z", "9990-03-25T20:00:00Z"] {
        each(usual(), |name, timetable| {
            let next = |before: &Timestamp| timetable.next_after(*before);
            let (steps, rows) =
                steps::count(|| std::iter::successors(Some(at(from)), next).take(501).count());
            assert!(steps < 3_000 * rows as u64, "{steps} steps for {rows} rows: {name} from {from}");
        });
    }
}

#[test]
fn counting_takes_a_step_a_month_and_a_change_of_the_clocks() {
    each([usual(), seldom()].concat(), |name, timetable| {
        let (steps, _) = steps::count(|| timetable.count_between(at("2025-04-01T12:00:00Z"), Timestamp::MAX));
        // Most repeat themselves after 400 years; the part is counted once, and what is before it.
        let often = ["every minute", "every hour", "every day", "every month", "every year"];
        if often.iter().any(|often| name.starts_with(often)) {
            assert!(steps < WHOLE_TIME_STEPS / 2, "{steps} steps: {name}");
        }
        // Days that are counted in part are looked at by themselves, at both ends of each stretch.
        assert!(steps < 3 * WHOLE_TIME_STEPS, "{steps} steps: {name}");
        let (steps, _) =
            steps::count(|| timetable.count_between(at("2025-04-01T12:00:00Z"), at("2036-01-01T00:00:00Z")));
        assert!(steps < 4_000, "{steps} steps for ten years: {name}");
    });
}

#[test]
fn a_bound_of_the_count_takes_no_step_and_holds() {
    let untils =
        ["2025-04-01T12:00:00Z", "2025-10-27T00:00:00Z", "2036-01-01T00:00:00Z", "9998-12-31T00:00:00Z"];
    each([usual(), seldom()].concat(), |name, timetable| {
        for after in ["2025-03-01T00:00:00Z", "2025-04-01T12:00:00Z", "2025-10-25T23:00:00Z"] {
            for until in untils {
                let (steps, most) = steps::count(|| timetable.most_between(at(after), at(until)));
                assert_eq!(steps, 0, "{name}");
                let count = timetable.count_between(at(after), at(until));
                assert!(most >= count, "{most} for {count}: {name} from {after} until {until}");
            }
        }
    });
}

#[test]
fn what_is_due_seldom_or_never_is_found_in_a_bounded_number_of_steps() {
    each(seldom(), |name, timetable| {
        for asked in ["2026-01-01T00:00:00Z", "5000-06-01T00:00:00Z"] {
            let (steps, _) = steps::count(|| timetable.next_after(at(asked)));
            assert!(steps < WHOLE_TIME_STEPS, "{steps} steps: {name} after {asked}");
        }
        let (steps, _) = steps::count(|| timetable.never_matches());
        assert!(steps < WHOLE_TIME_STEPS, "{steps} steps: {name} never");
    });
}

#[test]
fn what_is_due_in_eight_thousand_years_takes_a_bounded_number_of_steps() {
    each([usual(), seldom()].concat(), |name, timetable| {
        let (after, until) = (at("2025-05-01T00:00:00Z"), at("9998-12-31T00:00:00Z"));
        let (steps, _) = steps::count(|| timetable.due_between(after, until));
        assert!(steps < 8 * WHOLE_TIME_STEPS, "{steps} steps: {name}");
    });
}
