//! Recurrences: from JSON to a rule and back.

use punctual_recurrence::{Frequency, MonthlyOccurrence, Problem, Rule, Schedule, Start, Weekday};

use crate::json::{Json, Members};
use crate::reader::{Object, Path, Problems, integer, kind, shown};
use crate::time;
use crate::{ApiVersion, Dialect};

/// Reads and checks a rule. `None` only with a problem.
pub(crate) fn read(
    value: &Json<'_>,
    path: Path<'_>,
    with_time_zone: bool,
    problems: &mut Problems,
) -> Option<Rule> {
    let recurrence = Object::of(value, path, problems)?;
    let frequency = read_frequency(&recurrence, problems);
    let interval = recurrence.integer("interval", problems);
    let count = recurrence.integer("count", problems);
    let end_at = recurrence.instant("endTime", problems);
    let schedule = recurrence.get("schedule").and_then(|value| {
        let path = recurrence.at("schedule");
        Object::of(value, path, problems).map(|schedule| read_schedule(&schedule, problems))
    });
    let time_zone = if with_time_zone { recurrence.text("timeZone", problems) } else { None };
    let rule = Rule {
        frequency: frequency.unwrap_or(Frequency::Day),
        interval,
        count,
        end_at,
        schedule: schedule.filter(|schedule| !schedule.is_empty()),
        time_zone: time_zone.map(str::to_owned),
    };
    let found = match frequency {
        Some(_) => rule.check().err().unwrap_or_default(),
        None => rule.problems_of_any_frequency(),
    };
    problems.add_below(path, found);
    frequency.map(|_| rule)
}

/// Reports a schedule that never matches. A rule with other problems is left alone: they were reported already.
pub(crate) fn check_matches(rule: &Rule, start: Start, path: Path<'_>, problems: &mut Problems) {
    let timetable = rule.check().ok().map(|checked| checked.timetable(start));
    if let Some(reason) = timetable.and_then(|timetable| timetable.never_matches()) {
        problems.add_below(path, vec![Problem::new("schedule", format!("can never match: {reason}"))]);
    }
}

fn read_frequency(recurrence: &Object<'_>, problems: &mut Problems) -> Option<Frequency> {
    let text = recurrence.required_text("frequency", problems)?;
    let frequency = text.parse().ok();
    if frequency.is_none() {
        let message = format!("'{}' is not one of Minute, Hour, Day, Week, Month, Year", shown(text));
        recurrence.note("frequency", message, problems);
    }
    frequency
}

fn read_schedule(schedule: &Object<'_>, problems: &mut Problems) -> Schedule {
    Schedule {
        minutes: read_list(schedule, "minutes", problems, integer),
        hours: read_list(schedule, "hours", problems, integer),
        week_days: read_list(schedule, "weekDays", problems, read_weekday),
        month_days: read_list(schedule, "monthDays", problems, integer),
        monthly_occurrences: read_list(schedule, "monthlyOccurrences", problems, read_monthly_occurrence),
        months: read_list(schedule, "months", problems, integer),
    }
}

/// The most elements of one list; the largest useful one has all 60 minutes.
const LIST_LENGTH_MAX: usize = 1000;

fn read_list<T>(
    schedule: &Object<'_>,
    name: &str,
    problems: &mut Problems,
    read: fn(&Json<'_>, Path<'_>, &mut Problems) -> Option<T>,
) -> Vec<T> {
    let items = schedule.items(name);
    if items.len() > LIST_LENGTH_MAX {
        let message = format!("must have at most {LIST_LENGTH_MAX} elements, not {}", items.len());
        schedule.note(name, message, problems);
        return Vec::new();
    }
    let path = schedule.at(name);
    let items = items.iter().enumerate();
    items.filter_map(|(index, item)| read(item, Path::Item(&path, index), problems)).collect()
}

fn read_weekday(value: &Json<'_>, path: Path<'_>, problems: &mut Problems) -> Option<Weekday> {
    let Some(text) = value.as_str() else {
        problems.add(path, format!("must be the name of a weekday, not {}", kind(value)));
        return None;
    };
    let weekday = text.parse().ok();
    if weekday.is_none() {
        problems.add(path, format!("'{}' is not a weekday, such as Monday", shown(text)));
    }
    weekday
}

fn read_monthly_occurrence(
    value: &Json<'_>,
    path: Path<'_>,
    problems: &mut Problems,
) -> Option<MonthlyOccurrence> {
    let one = Object::of(value, path, problems)?;
    if one.get("day").is_none() {
        one.note("day", "is required", problems);
    }
    let day = one.get("day").and_then(|day| read_weekday(day, one.at("day"), problems));
    // The published descriptions say `Occurrence`, the service itself `occurrence`.
    let name = if one.get("occurrence").is_some() { "occurrence" } else { "Occurrence" };
    let occurrence = one.integer(name, problems);
    Some(MonthlyOccurrence { day: day?, occurrence })
}

/// Renders a rule: names in lower case, `interval` always, everything else only if it was given.
pub(crate) fn render(rule: &Rule, version: ApiVersion, dialect: Dialect) -> Json<'_> {
    let mut recurrence = Members::new();
    recurrence.insert("frequency", rule.frequency.name().into());
    if let Some(count) = rule.count {
        recurrence.insert("count", count.into());
    }
    if let Some(end_at) = rule.end_at {
        recurrence.insert("endTime", time::instant(end_at).into());
    }
    recurrence.insert("interval", rule.interval.unwrap_or(1).into());
    if let Some(schedule) = rule.schedule.as_ref().filter(|schedule| !schedule.is_empty()) {
        recurrence.insert("schedule", render_schedule(schedule, dialect));
    }
    if let Some(time_zone) = rule.time_zone.as_deref().filter(|_| version.has_additions()) {
        recurrence.insert("timeZone", time_zone.into());
    }
    recurrence.into()
}

fn render_schedule(schedule: &Schedule, dialect: Dialect) -> Json<'static> {
    let mut members = Members::new();
    let mut numbers = |name: &'static str, list: &[i64]| {
        if !list.is_empty() {
            members.insert(name, list.into());
        }
    };
    numbers("minutes", &schedule.minutes);
    numbers("hours", &schedule.hours);
    numbers("monthDays", &schedule.month_days);
    numbers("months", &schedule.months);
    if !schedule.week_days.is_empty() {
        let days: Vec<Json<'_>> = schedule.week_days.iter().map(|day| weekday(*day).into()).collect();
        members.insert("weekDays", days.into());
    }
    if !schedule.monthly_occurrences.is_empty() {
        let occurrences = schedule.monthly_occurrences.iter();
        let occurrences: Vec<Json<'_>> = occurrences.map(|one| render_monthly(*one, dialect)).collect();
        members.insert("monthlyOccurrences", occurrences.into());
    }
    members.into()
}

fn render_monthly(one: MonthlyOccurrence, dialect: Dialect) -> Json<'static> {
    let mut members = Members::new();
    members.insert("day", weekday(one.day).into());
    if let Some(occurrence) = one.occurrence {
        members.insert(dialect.occurrence_name(), occurrence.into());
    }
    members.into()
}

fn weekday(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "monday",
        Weekday::Tuesday => "tuesday",
        Weekday::Wednesday => "wednesday",
        Weekday::Thursday => "thursday",
        Weekday::Friday => "friday",
        Weekday::Saturday => "saturday",
        Weekday::Sunday => "sunday",
    }
}
