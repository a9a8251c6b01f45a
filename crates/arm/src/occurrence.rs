//! The occurrences of a job, past and future. Only under Punctual's own api-version.

use crate::json::{Json, Members};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use punctual_model::ledger::{OccurrenceOutcome, Page, Row};
use punctual_model::{Rerun, SkipReason};
use punctual_recurrence::parse_instant;

use crate::reader::shown;
use crate::{ApiError, Dialect, Query, page, time};

/// The page size of occurrences without `$top`.
pub const OCCURRENCES_LIMIT: usize = 500;

/// The most runs that a row names as its repetitions: the latest.
const RERUNS_NAMED_MAX: usize = 20;

/// Renders a page; `next_link` leads to the next one. `reruns` are the runs that repeat an occurrence, by their instants.
pub fn answer_page<'a>(
    shown: &'a Page,
    reruns: &[Rerun],
    next_link: Option<String>,
    dialect: Dialect,
) -> Json<'a> {
    let rows = shown.rows.iter().map(|row| answer(row, reruns, dialect)).collect();
    let mut list = page::members(rows, next_link);
    if let Some(before) = shown.pruned_before {
        list.insert("prunedBefore", time::instant(before).into());
    }
    if let Some(reason) = &shown.never_matches {
        list.insert("neverMatches", reason.as_str().into());
    }
    list.into()
}

/// Renders an occurrence.
pub fn answer(row: &Row, reruns: &[Rerun], dialect: Dialect) -> Json<'static> {
    let (outcome, reason) = match row.outcome {
        OccurrenceOutcome::Pending => ("pending", None),
        OccurrenceOutcome::Running => ("running", row.ahead.then_some("clock")),
        OccurrenceOutcome::Retrying => ("retrying", row.ahead.then_some("clock")),
        OccurrenceOutcome::Succeeded => ("succeeded", row.ahead.then_some("clock")),
        OccurrenceOutcome::Failed => ("failed", row.ahead.then_some("clock")),
        OccurrenceOutcome::Skipped(SkipReason::Overlap) => ("skipped", Some("overlap")),
        OccurrenceOutcome::Skipped(SkipReason::Missed) => ("skipped", Some("missed")),
    };
    let mut members = Members::new();
    members.insert("dueTime", time::instant(row.due_at).into());
    members.insert("outcome", outcome.into());
    if let Some(reason) = reason {
        members.insert("reason", reason.into());
    }
    if let Some(started_at) = row.started_at {
        members.insert("startTime", time::instant(started_at).into());
        members.insert("lateness", dialect.duration(started_at.duration_since(row.due_at)).into());
    }
    members.insert("attempts", row.attempt_count.into());
    if let Some(of_at) = row.rerun_of {
        members.insert("cause", "run".into());
        members.insert("rerunOf", time::instant(of_at).into());
    }
    let repeats = reruns.iter().rev().filter(|rerun| rerun.of_at == row.due_at);
    let mut repeats: Vec<Json<'_>> =
        repeats.take(RERUNS_NAMED_MAX).map(|rerun| time::instant(rerun.run_at).into()).collect();
    if !repeats.is_empty() {
        repeats.reverse();
        members.insert("reruns", repeats.into());
    }
    members.into()
}

/// Reads the due time in the path of an occurrence.
pub fn read_due_time(written: &str) -> Result<Timestamp, ApiError> {
    parse_instant(written)
        .map_err(|why| ApiError::bad_request(format!("dueTime: '{}' {why}", shown(written))))
}

/// The answer to whoever had an occurrence repeated.
pub fn answer_rerun(rerun: Rerun) -> Json<'static> {
    let mut members = Members::new();
    members.insert("dueTime", time::instant(rerun.run_at).into());
    members.insert("of", time::instant(rerun.of_at).into());
    members.insert("cause", "run".into());
    members.into()
}

/// Which occurrences to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OccurrencesPage {
    /// Due at or after this instant.
    pub from: Option<Timestamp>,
    /// Due at or before this instant.
    pub to: Option<Timestamp>,
    /// Due after this instant: the last of the page before.
    pub after: Option<Timestamp>,
    /// The most occurrences of the page.
    pub limit: usize,
    /// Whether `$top` was given: then there is no next link.
    pub topped: bool,
}

impl OccurrencesPage {
    /// Reads the query of a list of occurrences.
    pub fn read(query: &Query) -> Result<Self, ApiError> {
        let (_, top) = page::read_numbers(query)?;
        let (from, to) = (read_instant(query, "from")?, read_instant(query, "to")?);
        if from.zip(to).is_some_and(|(from, to)| from > to) {
            return Err(ApiError::bad_request("The value of 'from' must not be later than that of 'to'."));
        }
        let after = query.get("$skiptoken").map(read_token).transpose()?;
        let limit = top.unwrap_or(OCCURRENCES_LIMIT);
        Ok(Self { from, to, after, limit, topped: top.is_some() })
    }

    /// The `$skiptoken` of the page after an occurrence.
    pub fn token(due_at: Timestamp) -> String {
        URL_SAFE_NO_PAD.encode(format!("o1 {}", due_at.as_nanosecond()))
    }
}

/// An instant in the query.
pub(crate) fn read_instant(query: &Query, name: &str) -> Result<Option<Timestamp>, ApiError> {
    let Some(text) = query.get(name) else { return Ok(None) };
    let instant = parse_instant(text);
    let instant = instant.map_err(|why| ApiError::bad_request(format!("{name}: '{}' {why}", shown(text))))?;
    Ok(Some(instant))
}

fn read_token(token: &str) -> Result<Timestamp, ApiError> {
    let text = page::read_token(token)?;
    let place = text.strip_prefix("o1 ").and_then(|number| number.parse().ok());
    place.and_then(|number| Timestamp::from_nanosecond(number).ok()).ok_or_else(page::unknown_token)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_row_says_what_became_of_an_occurrence() {
        let due_at = at("2026-11-15T12:00:00Z");
        let pending = Row {
            due_at,
            outcome: OccurrenceOutcome::Pending,
            started_at: None,
            attempt_count: 0,
            ahead: false,
            rerun_of: None,
        };
        let check = |row: Row, expected: Value| {
            assert_eq!(answer(&row, &[], Dialect::default()).to_value(), expected);
        };
        check(pending, json!({"dueTime": "2026-11-15T12:00:00Z", "outcome": "pending", "attempts": 0}));
        check(
            Row { outcome: OccurrenceOutcome::Skipped(SkipReason::Missed), ..pending },
            json!({"dueTime": "2026-11-15T12:00:00Z", "outcome": "skipped", "reason": "missed", "attempts": 0}),
        );
        let started_at = Some(at("2026-11-15T12:00:00.0123Z"));
        check(
            Row { outcome: OccurrenceOutcome::Failed, started_at, attempt_count: 5, ..pending },
            json!({"dueTime": "2026-11-15T12:00:00Z", "outcome": "failed",
                "startTime": "2026-11-15T12:00:00.0123Z", "lateness": "00:00:00.0123000", "attempts": 5}),
        );
        check(
            Row {
                outcome: OccurrenceOutcome::Succeeded,
                started_at,
                attempt_count: 1,
                ahead: true,
                ..pending
            },
            json!({"dueTime": "2026-11-15T12:00:00Z", "outcome": "succeeded", "reason": "clock",
                "startTime": "2026-11-15T12:00:00.0123Z", "lateness": "00:00:00.0123000", "attempts": 1}),
        );
    }

    #[test]
    fn pages_have_bounds_and_a_place() {
        let token = OccurrencesPage::token(at("2026-11-15T12:00:00Z"));
        let query =
            Query::decode(&format!("from=2026-11-01&to=2026-12-01T00%3A00Z&$top=10&$skiptoken={token}"));
        let expected = OccurrencesPage {
            from: Some(at("2026-11-01T00:00:00Z")),
            to: Some(at("2026-12-01T00:00:00Z")),
            after: Some(at("2026-11-15T12:00:00Z")),
            limit: 10,
            topped: true,
        };
        assert_eq!(OccurrencesPage::read(&query), Ok(expected));
        for bad in ["from=x", "to=", "from=2027-01-01&to=2026-01-01", "$skiptoken=AA", "$top=0"] {
            assert_eq!(
                OccurrencesPage::read(&Query::decode(bad)).map_err(|error| error.status),
                Err(400),
                "{bad}"
            );
        }
    }
}
