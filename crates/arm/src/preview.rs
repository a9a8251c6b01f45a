//! Previews: when a job will run, before it is written.
//!
//! The command line needs only the part of a job that says when it runs, in whatever shape it comes; that is read here. The
//! endpoint reads a whole definition, and shows all that is wrong with it.

mod answer;
mod difference;
mod request;

pub use answer::{Previewed, PreviewedJob};
pub use request::{COUNT_MAX, DiffRequest, PreviewRequest};

use jiff::Timestamp;
use punctual_model::preview::End;
use punctual_recurrence::{Problem, Rule};
use serde_json::Value;

use crate::json::{Json, Members};
use crate::reader::{Object, Path, Problems, instant, shown};
use crate::shape::{self, Unknown};
use crate::suggestion::nearest;
use crate::{ApiVersion, recurrence, time};

/// The part of a job that says when it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// `startTime`.
    pub start_at: Option<Timestamp>,
    /// `recurrence`; without one the job runs once.
    pub rule: Option<Rule>,
    /// The assumed time of the PUT, if the document has one.
    pub now: Option<Timestamp>,
    /// The number of occurrences to show, if the document has one.
    pub count: Option<u64>,
}

/// Reads a preview from any of
/// - a whole resource, `{"properties": {"startTime": …, "recurrence": {…}}}`,
/// - its `properties`,
/// - a bare recurrence, `{"frequency": "day", …}`,
/// - a line of a batch, `{"now": …, "count": …, "properties": {…}}`,
///
/// including time zones, and reports every problem with its path in the document. Unknown members are problems,
/// too, except those around `properties`.
pub fn read_preview(value: &Value) -> Result<Preview, Vec<Problem>> {
    let mut problems = Problems::default();
    let preview = read_any(&value.into(), &mut problems);
    match preview {
        Some(preview) if problems.is_empty() => Ok(preview),
        _ => Err(problems.into_vec()),
    }
}

fn read_any(value: &Json<'_>, problems: &mut Problems) -> Option<Preview> {
    let document = Object::of(value, Path::Root, problems)?;
    if let Some(properties) = document.get("properties") {
        let now = document.instant("now", problems);
        let count = document.integer("count", problems).and_then(|count| {
            let positive = u64::try_from(count).ok().filter(|count| *count > 0);
            if positive.is_none() {
                document.note("count", format!("must be at least 1, not {count}"), problems);
            }
            positive
        });
        Unknown::of_properties(properties, ApiVersion::V2026_11).add_to(problems);
        let properties = Object::of(properties, document.at("properties"), problems)?;
        return Some(Preview { now, count, ..read_properties(&properties, problems) });
    }
    if document.get("frequency").is_some() {
        Unknown::of(value, shape::RECURRENCE, ApiVersion::V2026_11).add_to(problems);
        let rule = recurrence::read(value, Path::Root, true, problems);
        return Some(Preview { start_at: None, rule, now: None, count: None });
    }
    if ["recurrence", "startTime", "action"].iter().any(|name| document.get(name).is_some()) {
        Unknown::of(value, shape::JOB_PROPERTIES, ApiVersion::V2026_11).add_to(problems);
        return Some(read_properties(&document, problems));
    }
    for name in value.as_object().into_iter().flat_map(Members::iter).map(|(name, _)| name) {
        if let Some(meant) = nearest(name, ["properties", "recurrence", "startTime", "action", "frequency"]) {
            document.note(&shown(name), format!("unknown member, did you mean {meant}?"), problems);
        }
    }
    let expected = "must have properties, or recurrence or startTime, or the frequency of a bare recurrence";
    problems.add(Path::Root, expected);
    None
}

fn read_properties(properties: &Object<'_>, problems: &mut Problems) -> Preview {
    let start_at =
        properties.get("startTime").and_then(|value| instant(value, properties.at("startTime"), problems));
    let rule = properties
        .get("recurrence")
        .and_then(|value| recurrence::read(value, properties.at("recurrence"), true, problems));
    Preview { start_at, rule, now: None, count: None }
}

/// A description as a sentence of its own.
pub fn sentence(mut description: String) -> String {
    if let Some(first) = description.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    description
}

/// How a list of runs ends, in words; none if there are more. `empty` if there is none at all, and `never_matches` says why
/// the schedule never matches, if that is so.
pub fn end_words(end: End, empty: bool, never_matches: Option<&str>) -> Option<String> {
    if let Some(reason) = never_matches {
        let begin = if empty { "It never runs" } else { "and never again" };
        return Some(format!("{begin}: no instant up to the year 9999 fits the schedule ({reason})"));
    }
    Some(match (end, empty) {
        (End::Cut, _) => return None,
        (End::Count(_), true) => "It never runs: it has run as often as its count allows".to_owned(),
        (End::Count(1), false) => "then it has run once and ends".to_owned(),
        (End::Count(count), false) => format!("then it has run {count} times and ends"),
        (End::AtTime(end_at), true) => {
            format!("It never runs: nothing is due until its end time {}", time::instant(end_at))
        }
        (End::AtTime(end_at), false) => format!("then its end time {} is past", time::instant(end_at)),
        (End::Once, true) => "It never runs: it has run already".to_owned(),
        (End::Once, false) => "then it ends".to_owned(),
        (End::Never, true) => "It never runs: no instant up to the year 9999 fits the schedule".to_owned(),
        (End::Never, false) => "and never again up to the year 9999".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use punctual_recurrence::Frequency;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_shape_of_a_recurring_job_is_read() {
        let hourly = json!({"frequency": "Hour", "interval": 2});
        let properties = json!({"startTime": "2026-11-15T12:00:00Z", "recurrence": hourly});
        let rule = Some(Rule::every(2, Frequency::Hour));
        let start_at = Some("2026-11-15T12:00:00Z".parse().unwrap());
        let plain = Preview { start_at, rule: rule.clone(), now: None, count: None };
        let check = |value: Value, expected: &Preview| {
            assert_eq!(read_preview(&value).as_ref(), Ok(expected), "{value}");
        };
        check(hourly.clone(), &Preview { start_at: None, ..plain.clone() });
        check(properties.clone(), &plain);
        check(json!({"id": "/x", "properties": properties}), &plain);
        let now = Some("2026-11-14T00:00:00Z".parse().unwrap());
        check(
            json!({"now": "2026-11-14", "count": 7, "properties": properties}),
            &Preview { now, count: Some(7), ..plain.clone() },
        );
        check(json!({"properties": {}}), &Preview { start_at: None, rule: None, now: None, count: None });
    }

    #[test]
    fn problems_have_the_path_in_the_document() {
        let check = |value: Value, expected: &[&str]| {
            let problems = read_preview(&value).unwrap_err();
            let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
            assert_eq!(paths, expected, "{value}");
        };
        check(json!([]), &[""]);
        check(json!({"x": 1}), &[""]);
        check(json!({"propertes": {}}), &["propertes", ""]);
        check(json!({"frequency": "day", "intervall": 2}), &["intervall"]);
        check(json!({"startTime": "2026-11-15", "recurrance": {}}), &["recurrance"]);
        let far =
            json!({"action": {"type": "Http", "request": {"bdy": ""}}, "recurrence": {"frequency": "x"}});
        check(
            json!({"meaning": "x", "properties": far}),
            &["properties.action.request.bdy", "properties.recurrence.frequency"],
        );
        check(json!({"frequency": "second"}), &["frequency"]);
        check(json!({"frequency": "day", "interval": "1", "count": 0}), &["interval", "count"]);
        check(
            json!({"now": 1, "count": 0, "properties": {"startTime": "x", "recurrence": {
                "frequency": "week", "timeZone": "Mars/Base",
                "schedule": {"hours": [1, "2"], "weekDays": ["Mon"], "monthDays": 1}}}}),
            &[
                "now",
                "count",
                "properties.startTime",
                "properties.recurrence.schedule.hours[1]",
                "properties.recurrence.schedule.weekDays[0]",
                "properties.recurrence.schedule.monthDays",
                "properties.recurrence.timeZone",
            ],
        );
    }
}
