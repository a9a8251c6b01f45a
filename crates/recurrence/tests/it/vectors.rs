//! The golden vectors: 180 jobs in UTC and in zones with the instants at which they are due.
//!
//! The oracle must reproduce them as well; else agreeing with it would prove nothing.

use std::collections::BTreeSet;
use std::io::Write;

use jiff::{SignedDuration, Timestamp};
use punctual_recurrence::Start;
use serde_json::Value;

use crate::case::{self, Case};
use crate::oracle::due_between;
use crate::timetable;

/// The vectors were made with the time zone database 2025b. Since then Morocco has gone back to UTC for
/// good, on 2026-09-20 (2026e has it), so these instants are an hour later than the file says wherever
/// the machine's database is that new.
const CHANGED_BY_LAW: [(&str, &str); 2] =
    [("2026-09-27T00:18:00Z", "2026-09-27T01:18:00Z"), ("2026-09-27T07:18:00Z", "2026-09-27T08:18:00Z")];

/// Where one of the cases has no answer, the oracle looks this far: it would take minutes for 8000 years.
const SEARCHED_IN_VAIN: SignedDuration = SignedDuration::from_hours(24 * 366 * 2);

#[test]
fn no_vector_is_missing() {
    assert_eq!(case::UTC.lines().count(), 120);
    assert_eq!(case::ZONES.lines().count(), 60);
}

#[test]
fn every_case_in_utc_is_due_as_recorded() {
    check(&Case::read_all(case::UTC));
}

#[test]
fn every_case_in_zones_is_due_as_recorded() {
    check(&cases_in_zones());
}

fn check(cases: &[Case]) {
    for (row, case) in cases.iter().enumerate() {
        let timetable = timetable(&case.rule, case.start);
        let due: Vec<Timestamp> = timetable.occurrences().take(case.count).collect();
        assert_eq!(due, case.occurrences, "line {}: {case:?}", row + 1);
        // Asked one by one, from just after each answer, it says the same.
        let mut asked = timetable.first();
        for occurrence in &case.occurrences {
            assert_eq!(asked, Some(*occurrence), "line {}: {case:?}", row + 1);
            assert!(timetable.contains(*occurrence), "line {}: {occurrence} of {case:?}", row + 1);
            asked = timetable.next_after(*occurrence);
        }
    }
}

#[test]
fn the_oracle_reproduces_every_case_in_utc() {
    check_oracle(&Case::read_all(case::UTC));
}

#[test]
fn the_oracle_reproduces_every_case_in_zones() {
    check_oracle(&cases_in_zones());
}

#[test]
fn the_oracle_reproduces_every_documented_schedule() {
    check_oracle(&Case::read_all(case::DOCUMENTED));
}

fn check_oracle(cases: &[Case]) {
    for (row, case) in cases.iter().enumerate() {
        let begin_at = case.start.put_at.max(case.start.anchor_at());
        let wanted = case.rule.count.map_or(case.count, |count| case.count.min(count.try_into().unwrap()));
        let finished = |until_at: Timestamp| {
            until_at == Timestamp::MAX
                || case.rule.end_at.is_some_and(|end_at| until_at >= end_at)
                || (case.occurrences.is_empty() && until_at >= begin_at + SEARCHED_IN_VAIN)
        };
        // The window grows until it holds enough: most cases need days, some decades.
        let mut window = SignedDuration::from_hours(24 * 20);
        let mut until_at = begin_at;
        let mut due = BTreeSet::new();
        while due.len() < wanted && !finished(until_at) {
            until_at = begin_at.saturating_add(window).unwrap();
            due = due_between(&case.rule, case.start, case.start.put_at, until_at);
            window *= 3;
        }
        let due: Vec<Timestamp> = due.into_iter().take(wanted).collect();
        assert_eq!(due, case.occurrences, "line {}: {case:?}", row + 1);
    }
}

fn cases_in_zones() -> Vec<Case> {
    let mut cases = Case::read_all(case::ZONES);
    let morocco = jiff::tz::TimeZone::get("Africa/Casablanca").unwrap();
    if morocco.to_offset("2026-09-27T12:00:00Z".parse().unwrap()).seconds() != 0 {
        return cases;
    }
    let moroccan =
        cases.iter_mut().filter(|case| case.rule.time_zone.as_deref() == Some("Africa/Casablanca"));
    for occurrence in moroccan.flat_map(|case| &mut case.occurrences) {
        for (made_with, today) in CHANGED_BY_LAW {
            if occurrence.to_string() == made_with {
                *occurrence = today.parse().unwrap();
            }
        }
    }
    cases
}

/// What the service that Punctual stands in for answered. The data are other people's and not kept here:
/// a JSON list of `now`, `startTime`, `recurrence` and `nextExecutionTime`.
#[test]
fn answers_of_the_real_service_are_ours() {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test that needs data from outside is told where they are"
    )]
    let Ok(path) = std::env::var("PUNCTUAL_REAL_VECTORS") else {
        // Not `eprintln`, which is swallowed as long as a test passes.
        writeln!(std::io::stderr(), "SKIPPED: PUNCTUAL_REAL_VECTORS does not name a file").unwrap();
        return;
    };
    let answers: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut checked = 0;
    for answer in answers {
        // Without recurrence there is no rule, and without startTime the job is due at once, which the
        // real service puts 20 seconds later.
        let (Some(start_at), Some(recurrence)) = (answer.get("startTime"), answer.get("recurrence")) else {
            continue;
        };
        if start_at.is_null() || recurrence.is_null() {
            continue;
        }
        let put_at = case::instant(&answer["now"]);
        let start = Start { start_at: Some(case::instant(start_at)), put_at };
        let first = timetable(&case::rule(recurrence), start).first();
        assert_eq!(first, Some(case::instant(&answer["nextExecutionTime"])), "{answer}");
        checked += 1;
    }
    assert_ne!(checked, 0, "no answer could be checked");
}
