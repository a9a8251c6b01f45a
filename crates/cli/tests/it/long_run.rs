//! Days and months on a fast clock: what fires is what the recurrence engine predicts.

use jiff::Timestamp;
use punctual_recurrence::{Frequency, MonthlyOccurrence, Rule, Schedule, Start, Weekday};
use serde_json::{Value, json};

use crate::receiver::Hit;
use crate::scheduler::{START, Scheduler, instant, start_at};

/// A job, as the wire and as the engine know it.
struct Case {
    name: String,
    wire: Value,
    rule: Rule,
    start_at: Timestamp,
}

fn case(name: &str, start: &str, end: &str, rule: Rule, schedule: Value) -> Case {
    let (frequency, interval) = (rule.frequency.name(), rule.interval.unwrap());
    let mut wire = json!({"frequency": frequency, "interval": interval, "endTime": end});
    if !schedule.is_null() {
        wire["schedule"] = schedule;
    }
    let rule = Rule { end_at: Some(end.parse().unwrap()), ..rule };
    Case { name: name.into(), wire, rule, start_at: start.parse().unwrap() }
}

/// Puts the jobs while the clock stands nearly still, runs them on a fast one until all are completed, and
/// compares.
fn check(cases: &[Case], end: &str, speed: u32) {
    let scheduler = Scheduler::start_with(&["--clock-start", START, "--role", "api"]);
    for case in cases {
        let properties = json!({"startTime": case.start_at.to_string(), "recurrence": case.wire,
                                "action": scheduler.action(&format!("/ok-{}", case.name))});
        scheduler.put(&case.name, &properties);
    }
    let scheduler = scheduler.restart(start_at(), speed);
    let end: Timestamp = end.parse().unwrap();
    for case in cases {
        scheduler.wait_for_state(&case.name, "completed");
        let start = Start { start_at: Some(case.start_at), put_at: start_at() };
        let predicted: Vec<_> = case.rule.check().unwrap().timetable(start).occurrences().collect();
        assert!(!predicted.is_empty(), "{}", case.name);

        let rows = scheduler.occurrences(&case.name, start_at(), end);
        let due: Vec<_> = rows.iter().map(|row| instant(&row["dueTime"])).collect();
        let differs = due.iter().zip(&predicted).find(|(row, expected)| row != expected);
        assert_eq!(differs, None, "{}: a row for each occurrence, and no other", case.name);
        assert_eq!(due.len(), predicted.len(), "{}: a row for each occurrence, and no other", case.name);
        let other = rows.iter().find(|row| row["outcome"] != "succeeded");
        assert_eq!(other, None, "{}: all succeeded", case.name);

        let hits = scheduler.receiver.hits_of(&case.name);
        let arrived: Vec<_> = hits.iter().map(Hit::expected_at).collect();
        let differs = arrived.iter().zip(&predicted).find(|(hit, expected)| hit != expected);
        assert_eq!(differs, None, "{}: each arrived once, in order", case.name);
        assert_eq!(arrived.len(), predicted.len(), "{}: each arrived once, in order", case.name);
        assert_eq!(scheduler.counters(&case.name), [predicted.len() as u64, 0, 0]);
    }
}

#[test]
fn a_day_of_minute_jobs_is_what_the_engine_predicts() {
    let end = "2027-01-02T01:00:00Z";
    let cases: Vec<_> = (1..=4)
        .map(|interval| {
            let rule = Rule::every(interval, Frequency::Minute);
            case(&format!("every-{interval}"), "2027-01-01T01:00:07Z", end, rule, Value::Null)
        })
        .collect();
    check(&cases, end, 3_600);
}

#[test]
fn a_month_of_hourly_daily_weekly_and_monthly_jobs_is_what_the_engine_predicts() {
    let (start, end) = ("2027-01-01T06:30:00Z", "2027-02-02T00:00:00Z");
    let hourly = Rule::every(1, Frequency::Hour);
    let mut daily = Rule::every(1, Frequency::Day);
    daily.schedule = Some(Schedule { hours: vec![5, 17], minutes: vec![15, 45], ..Schedule::default() });
    let mut weekly = Rule::every(1, Frequency::Week);
    let week_days = vec![Weekday::Monday, Weekday::Friday];
    weekly.schedule = Some(Schedule { week_days, hours: vec![9], minutes: vec![0], ..Schedule::default() });
    let mut monthly = Rule::every(1, Frequency::Month);
    let last_friday = MonthlyOccurrence { day: Weekday::Friday, occurrence: Some(-1) };
    monthly.schedule = Some(Schedule {
        monthly_occurrences: vec![last_friday],
        month_days: vec![1, -1],
        ..Schedule::default()
    });
    let cases = [
        case("hourly", start, end, hourly, Value::Null),
        case("daily", start, end, daily, json!({"hours": [5, 17], "minutes": [15, 45]})),
        case(
            "weekly",
            start,
            end,
            weekly,
            json!({"weekDays": ["Monday", "Friday"], "hours": [9], "minutes": [0]}),
        ),
        case(
            "monthly",
            start,
            end,
            monthly,
            json!({"monthlyOccurrences": [{"day": "Friday", "occurrence": -1}], "monthDays": [1, -1]}),
        ),
    ];
    check(&cases, end, 120_000);
}

#[test]
fn a_clock_that_goes_fast_fires_nothing_early() {
    let scheduler = Scheduler::start(3_600);
    scheduler.put("j", &scheduler.minutely("/ok"));
    scheduler.receiver.wait_for("j", 50);
    for record in scheduler.history("j", "&$filter=status%20eq%20Completed") {
        assert!(instant(&record["startTime"]) >= instant(&record["expectedExecutionTime"]), "{record}");
    }
}
