//! A golden case: a job as it was put, and the first instants at which it is due.
//!
//! The files in `vectors/` hold one case a line, in the words of the wire.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use punctual_recurrence::{MonthlyOccurrence, Rule, Schedule, Start, Weekday};
use serde_json::Value;

pub(crate) const UTC: &str = include_str!("../../vectors/recurrence_utc.jsonl");
pub(crate) const ZONES: &str = include_str!("../../vectors/recurrence_zones.jsonl");
pub(crate) const DOCUMENTED: &str = include_str!("../../vectors/documented_schedules.jsonl");

#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) rule: Rule,
    pub(crate) start: Start,
    /// How many instants were sought.
    pub(crate) count: usize,
    pub(crate) occurrences: Vec<Timestamp>,
    /// What the documentation says of it, if it is from there.
    pub(crate) meaning: String,
}

impl Case {
    pub(crate) fn read_all(lines: &str) -> Vec<Self> {
        lines.lines().map(Self::read).collect()
    }

    pub(crate) fn read(line: &str) -> Self {
        let case: Value = serde_json::from_str(line).unwrap();
        let properties = &case["properties"];
        let start_at = properties.get("startTime").map(instant);
        Self {
            rule: rule(&properties["recurrence"]),
            start: Start { start_at, put_at: instant(&case["now"]) },
            count: usize::try_from(case["count"].as_u64().unwrap()).unwrap(),
            occurrences: case["occurrences"].as_array().unwrap().iter().map(instant).collect(),
            meaning: case["meaning"].as_str().unwrap_or_default().to_owned(),
        }
    }
}

pub(crate) fn rule(recurrence: &Value) -> Rule {
    let member = |name: &str| recurrence.get(name);
    Rule {
        frequency: text(&recurrence["frequency"]).parse().unwrap(),
        interval: member("interval").map(number),
        count: member("count").map(number),
        end_at: member("endTime").map(instant),
        schedule: member("schedule").map(schedule),
        time_zone: member("timeZone").map(|name| text(name).to_owned()),
    }
}

fn schedule(schedule: &Value) -> Schedule {
    let numbers = |name: &str| list(schedule, name).iter().map(number).collect();
    Schedule {
        minutes: numbers("minutes"),
        hours: numbers("hours"),
        week_days: list(schedule, "weekDays").iter().map(weekday).collect(),
        month_days: numbers("monthDays"),
        monthly_occurrences: list(schedule, "monthlyOccurrences").iter().map(monthly_occurrence).collect(),
        months: numbers("months"),
    }
}

fn monthly_occurrence(one: &Value) -> MonthlyOccurrence {
    MonthlyOccurrence { day: weekday(&one["day"]), occurrence: one.get("occurrence").map(number) }
}

fn weekday(name: &Value) -> Weekday {
    text(name).parse().unwrap()
}

/// An instant with an offset, or without one in UTC. jiff reads it: the crate's own reader is under test.
pub(crate) fn instant(value: &Value) -> Timestamp {
    let written = text(value);
    written
        .parse()
        .unwrap_or_else(|_| Offset::UTC.to_timestamp(written.parse::<DateTime>().unwrap()).unwrap())
}

fn list<'a>(schedule: &'a Value, name: &str) -> &'a [Value] {
    schedule.get(name).map_or(&[], |values| values.as_array().unwrap())
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
