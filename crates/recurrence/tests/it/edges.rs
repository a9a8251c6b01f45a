//! Cases at the edges, each of them once told wrong.

use jiff::Timestamp;
use punctual_recurrence::{Frequency, Rule, Schedule, Start, Weekday};

use crate::timetable;

/// In Santiago the clocks went from midnight back to 23:00, from 4 to 5 April 2026 at 03:00 UTC.
#[test]
fn an_hour_repeated_before_midnight_runs_twice_though_the_next_chosen_day_is_far() {
    let saturdays = weekly_at_half_past("America/Santiago", Weekday::Saturday);
    let due = due_from("2026-04-05T02:00:00Z", &saturdays);
    assert_eq!(due[..3], ["2026-04-05T02:30:00Z", "2026-04-05T03:30:00Z", "2026-04-11T04:30:00Z"]);
}

#[test]
fn an_hour_repeated_before_midnight_runs_twice_though_the_job_ends_before_the_next_chosen_day() {
    let end_at = Some("2026-04-05T03:45:00Z".parse().unwrap());
    let saturdays = Rule { end_at, ..weekly_at_half_past("America/Santiago", Weekday::Saturday) };
    let due = due_from("2026-04-05T02:00:00Z", &saturdays);
    assert_eq!(due, ["2026-04-05T02:30:00Z", "2026-04-05T03:30:00Z"]);
}

/// In Berlin the clocks went from 02:00 to 03:00 on 29 March 2026 at 01:00 UTC.
#[test]
fn a_wall_time_moved_out_of_a_gap_is_due_though_the_job_ends_before_the_next_chosen_day() {
    let schedule =
        Schedule { month_days: vec![29], hours: vec![2], minutes: vec![30], ..Schedule::default() };
    let rule = Rule {
        schedule: Some(schedule),
        end_at: Some("2026-03-29T02:00:00Z".parse().unwrap()),
        time_zone: Some("Europe/Berlin".to_owned()),
        ..Rule::every(1, Frequency::Month)
    };
    for asked in ["2026-03-29T00:59:00Z", "2026-03-29T01:10:00Z", "2026-03-29T01:30:00Z"] {
        assert_eq!(due_from(asked, &rule), ["2026-03-29T01:30:00Z"], "from {asked}");
    }
}

fn weekly_at_half_past(zone: &str, day: Weekday) -> Rule {
    let schedule = Schedule { week_days: vec![day], minutes: vec![30], ..Schedule::default() };
    Rule { schedule: Some(schedule), time_zone: Some(zone.to_owned()), ..Rule::every(1, Frequency::Week) }
}

/// The first few of a job that was put then and started a week before.
fn due_from(put: &str, rule: &Rule) -> Vec<String> {
    let put_at: Timestamp = put.parse().unwrap();
    let start_at = put_at - jiff::SignedDuration::from_hours(7 * 24);
    let timetable = timetable(rule, Start { start_at: Some(start_at), put_at });
    timetable.occurrences().take(5).map(|at| at.to_string()).collect()
}
