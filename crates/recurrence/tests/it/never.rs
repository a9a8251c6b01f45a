//! Schedules that can never match are known as such, and why; those that match seldom are not taken for them.

use jiff::Timestamp;
use proptest::prelude::*;
use punctual_recurrence::{Frequency, MonthlyOccurrence, Rule, Schedule, Start, Timetable, Weekday};

use crate::generated::{config, jobs};
use crate::timetable;

use Frequency::{Day, Hour, Minute, Month, Year};

fn of(frequency: Frequency, interval: i64, schedule: Schedule, start: &str, zone: Option<&str>) -> Timetable {
    let rule = Rule {
        schedule: Some(schedule),
        time_zone: zone.map(str::to_owned),
        ..Rule::every(interval, frequency)
    };
    let start_at: Timestamp = start.parse().unwrap();
    timetable(&rule, Start { start_at: Some(start_at), put_at: start_at })
}

fn days(months: &[i64], month_days: &[i64]) -> Schedule {
    Schedule { months: months.to_vec(), month_days: month_days.to_vec(), ..Schedule::default() }
}

fn times(hours: &[i64], minutes: &[i64]) -> Schedule {
    Schedule { hours: hours.to_vec(), minutes: minutes.to_vec(), ..Schedule::default() }
}

#[test]
fn a_schedule_that_can_never_match_says_why() {
    let check = |timetable: Timetable, expected: &str| {
        assert_eq!(timetable.first(), None, "{expected}");
        assert_eq!(timetable.never_matches().as_deref(), Some(expected));
        assert_eq!(timetable.count_between(Timestamp::MIN, Timestamp::MAX), 0, "{expected}");
    };
    let start = "2026-01-15T12:00:00Z";
    let berlin = Some("Europe/Berlin");
    check(of(Month, 1, days(&[2], &[30]), start, None), "none of the chosen days exists in February");
    check(
        of(Year, 1, days(&[2, 4], &[31]), start, berlin),
        "none of the chosen days exists in February and April",
    );
    check(
        of(Month, 12, days(&[2], &[1]), start, None),
        "every 12 months from January 2026 never meets February",
    );
    check(
        of(Year, 1000, days(&[2], &[29]), "2025-01-01T00:00:00Z", berlin),
        "every 1000 years from 2025 never meets the schedule up to the year 9999",
    );
    let fifth = MonthlyOccurrence { day: Weekday::Monday, occurrence: Some(5) };
    let fifth = Schedule { monthly_occurrences: vec![fifth], ..days(&[2], &[]) };
    // The calendar repeats itself after 400 years, and February of 2026 begins with a Sunday.
    check(
        of(Year, 400, fifth, start, None),
        "every 400 years from 2026 never meets the schedule up to the year 9999",
    );
    // Three times 487 days are four years, but for the days that three centuries in four lack.
    check(
        of(Day, 487, Schedule { months: vec![2], ..times(&[6], &[0]) }, "2026-04-01T12:00:00Z", berlin),
        "every 487 days from 1 April 2026 never meets the schedule up to the year 9999",
    );
    check(
        of(Minute, 60, times(&[], &[30]), start, berlin),
        "every 60 minutes from 13:00 Europe/Berlin never meets the schedule up to the year 9999",
    );
    check(
        of(Hour, 2, times(&[1, 3], &[]), start, None),
        "every 2 hours from 12:00 UTC never meets the schedule up to the year 9999",
    );
    // In July the blocks are the odd hours.
    check(
        of(Hour, 2, Schedule { months: vec![7], ..times(&[2, 12], &[]) }, "2026-01-01T01:00:00Z", berlin),
        "every 2 hours from 02:00 Europe/Berlin never meets the schedule up to the year 9999",
    );
}

#[test]
fn a_schedule_that_matches_seldom_is_not_taken_for_one_that_never_does() {
    let check = |timetable: Timetable, first: &str| {
        assert_eq!(timetable.never_matches(), None, "{first}");
        assert_eq!(timetable.first().map(|at| at.to_string()).as_deref(), Some(first));
    };
    let noon = |schedule: Schedule| Schedule { hours: vec![12], minutes: vec![0], ..schedule };
    check(of(Month, 1, noon(days(&[2], &[29])), "2096-03-01T00:00:00Z", None), "2104-02-29T12:00:00Z");
    check(of(Year, 1000, noon(days(&[2], &[29])), "2024-03-01T00:00:00Z", None), "3024-02-29T12:00:00Z");
    // A year of 365 days falls behind the calendar by a day in four years.
    check(of(Day, 365, noon(days(&[2], &[])), "2026-03-15T00:00:00Z", None), "2084-02-29T12:00:00Z");
    let summer_only = Schedule { months: vec![7], ..times(&[3, 13], &[]) };
    check(of(Hour, 2, summer_only, "2026-01-01T01:00:00Z", Some("Europe/Berlin")), "2026-07-01T01:00:00Z");
}

#[test]
fn an_end_before_the_first_match_is_another_matter() {
    let leap_day = Schedule { months: vec![2], month_days: vec![29], ..Schedule::default() };
    let rule = Rule {
        schedule: Some(leap_day),
        end_at: Some("2027-01-01T00:00:00Z".parse().unwrap()),
        ..Rule::every(1, Year)
    };
    let start_at = "2026-11-15T12:00:00Z".parse().unwrap();
    let timetable = timetable(&rule, Start { start_at: Some(start_at), put_at: start_at });
    assert_eq!((timetable.first(), timetable.never_matches()), (None, None));
}

#[test]
fn a_run_at_once_is_no_match() {
    let rule = Rule { schedule: Some(days(&[2], &[30])), ..Rule::every(1, Month) };
    let put_at = "2026-11-15T12:00:00Z".parse().unwrap();
    let timetable = timetable(&rule, Start { start_at: None, put_at });
    assert_eq!(timetable.first(), Some(put_at));
    assert!(timetable.never_matches().is_some());
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_never_matches_has_no_occurrence_and_nothing_else_is_said_to(job in jobs()) {
        let start = Start { start_at: Some(job.start.anchor_at()), put_at: job.start.put_at };
        let endless = timetable(&Rule { end_at: None, ..job.rule }, start);
        prop_assert_eq!(endless.never_matches().is_some(), endless.first().is_none());
    }
}
