//! How long does a timetable take to say when a job is due next?
//!
//! Questions: the next occurrence after an instant, for each kind of rule, in UTC and in a zone; whether
//! an old start costs anything; how soon a rule that never matches says so; and how long it takes to count
//! occurrences, of a year and up to the year 9990. Beside it the crates
//! `rrule` and `croner` answer the same questions where they can express the rule; before anything is
//! measured all answers are compared.
//!
//! Each is given what it likes best: the rule compiled beforehand, the instant in its own type, and to
//! `rrule`, which walks from the start of a rule, a start that was only yesterday.

#![expect(clippy::unwrap_used, reason = "a bench that can't be set up should stop")]

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion};
use croner::Cron;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use punctual_recurrence::{Frequency, MonthlyOccurrence, Rule, Schedule, Start, Timetable, Weekday};
use rrule::RRuleSet;

const ZONES: [&str; 2] = ["UTC", "Europe/Berlin"];

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(30)
        .configure_from_args();
    for kind in kinds() {
        for zone in ZONES {
            compare(&mut criterion, &kind, zone);
        }
    }
    old_start(&mut criterion);
    never(&mut criterion);
    counted(&mut criterion);
    criterion.final_summary();
}

/// A rule in the three languages, as far as they have words for it.
struct Kind {
    name: &'static str,
    rule: Rule,
    rrule: Option<&'static str>,
    cron: Option<&'static str>,
}

fn kinds() -> Vec<Kind> {
    use Frequency::{Day, Hour, Minute, Month, Week, Year};
    let at = |hours: &[i64], minutes: &[i64]| Schedule {
        hours: hours.to_vec(),
        minutes: minutes.to_vec(),
        ..Schedule::default()
    };
    let first_friday = MonthlyOccurrence { day: Weekday::Friday, occurrence: Some(1) };
    let some_weekdays = vec![Weekday::Monday, Weekday::Wednesday, Weekday::Friday];
    vec![
        Kind {
            name: "daily at 05:15",
            rule: with(Day, at(&[5], &[15])),
            rrule: Some("FREQ=DAILY;BYHOUR=5;BYMINUTE=15;BYSECOND=0"),
            cron: Some("15 5 * * *"),
        },
        Kind {
            name: "every 3 days",
            rule: Rule::every(3, Day),
            rrule: Some("FREQ=DAILY;INTERVAL=3"),
            cron: None,
        },
        Kind {
            name: "weekly on 3 days at 17:15 and 17:45",
            rule: with(Week, Schedule { week_days: some_weekdays, ..at(&[17], &[15, 45]) }),
            rrule: Some("FREQ=WEEKLY;BYDAY=MO,WE,FR;BYHOUR=17;BYMINUTE=15,45;BYSECOND=0"),
            cron: Some("15,45 17 * * 1,3,5"),
        },
        Kind {
            name: "monthly on the last day at 06:00",
            rule: with(Month, Schedule { month_days: vec![-1], ..at(&[6], &[0]) }),
            rrule: Some("FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=6;BYMINUTE=0;BYSECOND=0"),
            cron: Some("0 6 L * *"),
        },
        Kind {
            name: "monthly on the first Friday at 05:00",
            rule: with(Month, Schedule { monthly_occurrences: vec![first_friday], ..at(&[5], &[0]) }),
            rrule: Some("FREQ=MONTHLY;BYDAY=1FR;BYHOUR=5;BYMINUTE=0;BYSECOND=0"),
            cron: Some("0 5 * * 5#1"),
        },
        Kind {
            name: "every 5 minutes",
            rule: Rule::every(5, Minute),
            rrule: Some("FREQ=MINUTELY;INTERVAL=5"),
            cron: Some("*/5 * * * *"),
        },
        Kind {
            name: "every minute from 09:00 to 09:59",
            rule: with(Minute, at(&[9], &[])),
            rrule: Some("FREQ=MINUTELY;BYHOUR=9;BYSECOND=0"),
            cron: Some("* 9 * * *"),
        },
        Kind {
            name: "hourly at quarter past",
            rule: with(Hour, at(&[], &[15])),
            rrule: Some("FREQ=HOURLY;BYMINUTE=15;BYSECOND=0"),
            cron: Some("15 * * * *"),
        },
        Kind {
            name: "every 7 hours",
            rule: Rule::every(7, Hour),
            rrule: Some("FREQ=HOURLY;INTERVAL=7"),
            cron: None,
        },
        Kind {
            name: "yearly on 1 January at 00:30",
            rule: with(Year, Schedule { months: vec![1], month_days: vec![1], ..at(&[0], &[30]) }),
            rrule: Some("FREQ=YEARLY;BYMONTH=1;BYMONTHDAY=1;BYHOUR=0;BYMINUTE=30;BYSECOND=0"),
            cron: Some("30 0 1 1 *"),
        },
    ]
}

fn with(frequency: Frequency, schedule: Schedule) -> Rule {
    Rule { schedule: Some(schedule), ..Rule::every(1, frequency) }
}

fn in_zone(rule: &Rule, zone: &str) -> Rule {
    Rule { time_zone: (zone != "UTC").then(|| zone.to_owned()), ..rule.clone() }
}

fn compiled(rule: &Rule, start_at: Timestamp) -> Timetable {
    rule.check().unwrap().timetable(Start { start_at: Some(start_at), put_at: start_at })
}

fn compare(criterion: &mut Criterion, kind: &Kind, zone: &str) {
    let start_at: Timestamp = "2026-11-14T12:00:00Z".parse().unwrap();
    let timetable = compiled(&in_zone(&kind.rule, zone), start_at);
    let asked = asked_after(start_at + SignedDuration::from_hours(24));
    let answers: Vec<Timestamp> = asked.iter().map(|at| timetable.next_after(*at).unwrap()).collect();

    let mut group = criterion.benchmark_group(format!("{}, {zone}", kind.name));
    measure(&mut group, "punctual", &asked, |at| timetable.next_after(*at).unwrap());

    if let Some(rule) = kind.rrule {
        let start = start_at.to_zoned(TimeZone::get(zone).unwrap());
        let dtstart = start.strftime("%Y%m%dT%H%M%S");
        let set: RRuleSet = format!("DTSTART;TZID={zone}:{dtstart}\nRRULE:{rule}").parse().unwrap();
        let asked: Vec<_> = asked.iter().map(|at| in_chrono(*at)).collect();
        let next = |at: &chrono::DateTime<rrule::Tz>| set.into_iter().find(|one| one > at).unwrap();
        for (at, answer) in asked.iter().zip(&answers) {
            assert_eq!(next(at), in_chrono(*answer), "rrule on {} in {zone} after {at}", kind.name);
        }
        measure(&mut group, "rrule", &asked, next);
    }

    if let Some(pattern) = kind.cron {
        let cron: Cron = pattern.parse().unwrap();
        let asked: Vec<Zoned> = asked.iter().map(|at| at.to_zoned(TimeZone::get(zone).unwrap())).collect();
        let next = |at: &Zoned| cron.find_next_occurrence(at, false).unwrap();
        for (at, answer) in asked.iter().zip(&answers) {
            assert_eq!(next(at).timestamp(), *answer, "croner on {} in {zone} after {at}", kind.name);
        }
        measure(&mut group, "croner", &asked, next);
    }
    group.finish();
}

/// A start 126 years ago, and the year 1 that .NET sends for no date at all, beside one of yesterday.
fn old_start(criterion: &mut Criterion) {
    let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
    let starts = [
        ("yesterday", "2026-11-14T12:00:00Z"),
        ("last month", "2026-10-14T12:00:00Z"),
        ("1900", "1900-01-01T00:00:00Z"),
        ("year 1", "0001-01-01T00:00:00Z"),
    ];
    let asked = asked_after(now);
    for kind in kinds() {
        let mut group = criterion.benchmark_group(format!("start of {}", kind.name));
        for (name, start_at) in starts {
            let timetable = compiled(&in_zone(&kind.rule, "Europe/Berlin"), start_at.parse().unwrap());
            measure(&mut group, name, &asked, |at| timetable.next_after(*at));
        }
        group.finish();
    }
}

/// None of these has an occurrence up to the year 9999.
fn never(criterion: &mut Criterion) {
    use Frequency::{Hour, Minute, Month, Year};
    let none = Schedule::default;
    let february_31 = || Schedule { months: vec![2], month_days: vec![31], ..none() };
    let leap_day = Schedule { months: vec![2], month_days: vec![29], ..none() };
    let half_past = Schedule { minutes: vec![30], ..none() };
    let even_hours = Schedule { minutes: vec![40, 44], hours: vec![2, 12, 20], ..none() };
    let even_in_july = Schedule { months: vec![7], hours: vec![2, 12, 20], ..none() };
    let every = |interval, rule| Rule { interval: Some(interval), ..rule };
    let rules = [
        ("31 February by month", with(Month, february_31()), "Europe/Berlin", "2026-11-15T12:00:00Z"),
        ("31 February by year", with(Year, february_31()), "Europe/Berlin", "2026-11-15T12:00:00Z"),
        // 2025, 3025 and so on are no leap years.
        (
            "29 February of 2025 and every 1000 years",
            every(1000, with(Year, leap_day)),
            "Europe/Berlin",
            "2025-01-01T00:00:00Z",
        ),
        (
            "every 60 minutes from :00 at :30",
            every(60, with(Minute, half_past)),
            "Europe/Berlin",
            "2026-11-15T12:00:00Z",
        ),
        // In winter its blocks are the odd hours, in summer they begin at half past odd hours.
        (
            "every 2 hours from an odd one at even ones",
            every(2, with(Hour, even_hours)),
            "Australia/Lord_Howe",
            "2008-08-20T06:41:30Z",
        ),
        // In winter its blocks are the even hours, in July the odd ones.
        (
            "every 2 hours at even ones in July",
            every(2, with(Hour, even_in_july)),
            "Europe/Berlin",
            "2026-01-01T01:00:00Z",
        ),
    ];
    let asked_at: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
    let mut group = criterion.benchmark_group("never");
    for (name, rule, zone, start_at) in rules {
        let timetable = compiled(&in_zone(&rule, zone), start_at.parse().unwrap());
        assert_eq!(timetable.next_after(asked_at), None, "{name}");
        measure(&mut group, name, &[asked_at], |at| timetable.next_after(*at));
    }
    group.finish();
}

/// How many occurrences there are in a year, and how many up to the year 9990.
fn counted(criterion: &mut Criterion) {
    let start_at: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
    for zone in ZONES {
        for kind in kinds() {
            let timetable = compiled(&in_zone(&kind.rule, zone), start_at);
            let mut group = criterion.benchmark_group(format!("count of {}, {zone}", kind.name));
            for (name, until) in [("one year", "2027-11-15T12:00:00Z"), ("year 9990", "9990-01-01T00:00:00Z")]
            {
                let until: [Timestamp; 1] = [until.parse().unwrap()];
                measure(&mut group, name, &until, |until| timetable.count_between(start_at, *until));
            }
            group.finish();
        }
    }
}

/// Different instants of the day after, so that no answer can be learnt by heart.
fn asked_after(begin_at: Timestamp) -> Vec<Timestamp> {
    (0..64).map(|index| begin_at + SignedDuration::from_secs(index * 7919 % 86_400)).collect()
}

fn in_chrono(at: Timestamp) -> chrono::DateTime<rrule::Tz> {
    chrono::DateTime::from_timestamp(at.as_second(), 0).unwrap().with_timezone(&rrule::Tz::UTC)
}

fn measure<Asked, Answer>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    asked: &[Asked],
    next: impl Fn(&Asked) -> Answer,
) {
    let mut turn = asked.iter().cycle();
    group.bench_function(name, |bencher| {
        bencher.iter(|| next(black_box(turn.next().unwrap())));
    });
}
