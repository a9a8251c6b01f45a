//! What a ledger shows of a job, and that it takes no longer for a window far away.

use jiff::{SignedDuration, Timestamp};
use punctual_recurrence::{Frequency, Rule, Schedule};

use super::{Ledger, OccurrenceOutcome, Page, RECORDS_MAX};
use crate::decide::{self, EditContext};
use crate::{
    Action, ActionKind, Cause, CollectionKey, Entry, HttpAction, Job, JobId, JobSpec, Record, RecordStatus,
    Skip, SkipReason,
};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A job that is put on 15 November 2026 at noon, and begins then.
fn put(rule: Rule) -> Job {
    let request = HttpAction {
        declared_https: false,
        uri: "http://example.com/".into(),
        user_info: None,
        method: "GET".into(),
        headers: Vec::new(),
        body: None,
        authentication: None,
    };
    let action = Action { kind: ActionKind::Http(request), retry: None, error_action: None };
    let now = at("2026-11-15T12:00:00Z");
    let spec = JobSpec { start_at: Some(now), recurrence: Some(rule), ..JobSpec::once(action) };
    let key = CollectionKey::new("s", "g", "c").job("j");
    decide::put(spec, &key, None, EditContext { now, collection_enabled: true })
}

fn minutely() -> Rule {
    Rule::every(1, Frequency::Minute)
}

/// Every minute from 09:00 to 09:59 in Berlin.
fn nine_in_berlin() -> Rule {
    let schedule = Schedule { hours: vec![9], ..Schedule::default() };
    Rule { schedule: Some(schedule), time_zone: Some("Europe/Berlin".into()), ..minutely() }
}

fn counted(rule: Rule, count: i64) -> Rule {
    Rule { count: Some(count), ..rule }
}

fn ledger(job: &Job) -> Ledger<'_> {
    Ledger {
        job,
        collection_enabled: true,
        in_flight: false,
        now: at("2026-11-15T12:00:00Z"),
        records: Vec::new(),
        skips: &[],
        reruns: &[],
        pruned_before: None,
    }
}

fn due(page: &Page) -> Vec<String> {
    page.rows.iter().map(|row| row.due_at.to_string()).collect()
}

#[test]
fn a_window_far_ahead_is_shown_from_its_begin() {
    let check = |rule: Rule, from: &str, expected: &[&str]| {
        let page = ledger(&put(rule)).page(at(from), at("9990-12-31T00:00:00Z"), 3);
        assert_eq!(due(&page), expected);
        assert!(page.rows.iter().all(|row| row.outcome == OccurrenceOutcome::Pending));
        assert_eq!(page.shown_until, page.rows.last().map(|row| row.due_at));
    };
    let first = ["9990-01-01T00:00:00Z", "9990-01-01T00:01:00Z", "9990-01-01T00:02:00Z"];
    check(minutely(), "9990-01-01T00:00:00Z", &first);
    let nine = ["9990-01-01T08:58:00Z", "9990-01-01T08:59:00Z", "9990-01-02T08:00:00Z"];
    check(nine_in_berlin(), "9990-01-01T08:58:00Z", &nine);
    check(counted(nine_in_berlin(), 2_147_483_647), "9990-01-01T08:58:00Z", &nine);
}

#[test]
fn what_count_does_not_leave_is_not_shown_however_far_the_window_is() {
    // The last of 2,147,483,647 minutes from 2026-11-15T12:00 on.
    let last = at("2026-11-15T12:00:00Z") + SignedDuration::from_mins(2_147_483_646);
    let job = put(counted(minutely(), 2_147_483_647));
    let hour = SignedDuration::from_hours(1);
    let page = ledger(&job).page(last - SignedDuration::from_mins(2), last + hour, 10);
    assert_eq!((page.rows.len(), page.rows[2].due_at, page.shown_until), (3, last, None));
    assert_eq!(ledger(&job).page(last + hour, Timestamp::MAX, 10).rows, []);
    // 60 a day, the first on the 16th: the 60,000th on the thousandth day.
    let job = put(counted(nine_in_berlin(), 60_000));
    let page = ledger(&job).page(at("2029-08-11T07:58:00Z"), Timestamp::MAX, 10);
    assert_eq!(due(&page), ["2029-08-11T07:58:00Z", "2029-08-11T07:59:00Z"]);
    assert_eq!(ledger(&job).page(at("2029-08-12T00:00:00Z"), Timestamp::MAX, 10).rows, []);
}

#[test]
fn what_count_leaves_is_the_same_whether_it_is_walked_counted_or_bounded() {
    for rule in [minutely(), nine_in_berlin()] {
        let all = put(rule.clone());
        let far = at("2026-12-31T00:00:00Z");
        let every = due(&ledger(&all).page(at("2026-11-15T12:00:00Z"), far, 800));
        for count in [1, 2, 3, 4, 5, 62, 119, 120, 121, 124, 700] {
            let job = put(counted(rule.clone(), count));
            for from in [1, 59, 60, 118, 119, 120, 121] {
                let begin = at(&every[from]);
                let left = every.iter().take(usize::try_from(count).unwrap()).skip(from);
                let expected: Vec<String> = left.take(3).cloned().collect();
                assert_eq!(due(&ledger(&job).page(begin, far, 3)), expected, "{count} from {begin}");
            }
        }
    }
}

#[test]
fn what_was_started_and_what_is_on_the_agenda_uses_up_the_count() {
    let mut job = put(counted(minutely(), 5));
    job.progress.started_count = 2;
    job.progress.past_at = Some(at("2026-11-15T12:01:00Z"));
    job.progress.entry = Some(Entry::scheduled(at("2026-11-15T12:02:00Z")));
    let all = |from: &str| ledger(&job).page(at(from), Timestamp::MAX, 10).rows.len();
    assert_eq!(["2026-11-15T12:00:00Z", "2026-11-15T12:03:00Z", "2026-11-15T12:04:00Z"].map(all), [3, 2, 1]);
    assert_eq!(all("2026-11-15T12:05:00Z"), 0);
}

#[test]
fn pages_follow_one_another_without_a_gap() {
    for rule in [minutely(), nine_in_berlin(), counted(nine_in_berlin(), 700)] {
        let job = put(rule);
        let to = at("2026-12-15T12:00:00Z");
        let whole = ledger(&job).page(Timestamp::MIN, to, usize::MAX);
        assert_eq!(whole.shown_until, None);
        let mut rows = Vec::new();
        let mut from = Timestamp::MIN;
        loop {
            let page = ledger(&job).page(from, to, 499);
            rows.extend(page.rows);
            let Some(until) = page.shown_until else { break };
            from = until + SignedDuration::from_nanos(1);
        }
        assert_eq!(rows, whole.rows);
    }
}

#[test]
fn the_end_of_time_has_a_page() {
    let page = ledger(&put(minutely())).page(Timestamp::MAX, Timestamp::MAX, 3);
    assert_eq!((page.rows.len(), page.shown_until), (0, None));
}

#[test]
fn records_that_fill_a_page_without_a_row_do_not_end_the_list() {
    let job = put(Rule::every(1, Frequency::Month));
    let asked_at = |index: usize| at("2026-11-16T00:00:00Z") + SignedDuration::from_secs(index as i64);
    let runs: Vec<Record> = (0..RECORDS_MAX)
        .map(|index| Record { cause: Cause::Run, ..record(asked_at(index), RecordStatus::Completed) })
        .collect();
    let mut ledger = ledger(&job);
    ledger.records = runs.iter().collect();
    let page = ledger.page(at("2026-11-16T00:00:00Z"), Timestamp::MAX, 10);
    assert_eq!(page.rows, []);
    let until = page.shown_until.unwrap();
    assert!(until < asked_at(RECORDS_MAX - 1), "{until}: the last record may not be whole");
    assert!(until > asked_at(RECORDS_MAX - 2), "{until}: the others are");
}

#[test]
fn what_was_skipped_is_shown_a_page_at_a_time() {
    let mut job = put(nine_in_berlin());
    job.progress.past_at = Some(at("2027-11-15T08:59:00Z"));
    job.progress.entry = None;
    let skip = Skip {
        job: JobId(1),
        generation: job.generation,
        first_at: at("2026-11-16T08:00:00Z"),
        last_at: at("2027-11-15T08:59:00Z"),
        count: 365 * 60,
        reason: SkipReason::Missed,
        decided_at: at("2027-11-15T12:00:00Z"),
    };
    let ledger = Ledger { skips: std::slice::from_ref(&skip), ..ledger(&job) };
    let page = ledger.page(at("2027-07-01T07:59:00Z"), Timestamp::MAX, 2);
    assert_eq!(due(&page), ["2027-07-01T07:59:00Z", "2027-07-02T07:00:00Z"]);
    assert_eq!(page.rows[0].outcome, OccurrenceOutcome::Skipped(SkipReason::Missed));
    let page = ledger.page(at("2027-11-15T08:59:00Z"), Timestamp::MAX, 2);
    let outcomes: Vec<OccurrenceOutcome> = page.rows.iter().map(|row| row.outcome).collect();
    assert_eq!(outcomes, [OccurrenceOutcome::Skipped(SkipReason::Missed), OccurrenceOutcome::Pending]);
}

/// A job whose last occurrence is being tried again, and whose schedule was edited on the way.
#[test]
fn past_occurrences_whose_records_are_gone_are_not_pending_where_nothing_follows() {
    let mut job = put(Rule { end_at: Some(at("2026-11-15T12:10:00Z")), ..minutely() });
    job.progress.floor_at = Some(at("2026-11-15T12:03:00Z"));
    job.progress.past_at = Some(at("2026-11-15T12:10:00Z"));
    job.progress.started_count = 11;
    let entry = Entry::scheduled(at("2026-11-15T12:10:00Z"));
    job.progress.entry = Some(Entry { attempt: 1, ordinal: 11, due_at: at("2026-11-16T00:00:00Z"), ..entry });
    let last = record(at("2026-11-15T12:09:00Z"), RecordStatus::Completed);
    let ledger = Ledger { records: vec![&last], now: at("2026-11-15T13:00:00Z"), ..ledger(&job) };
    let page = ledger.page(Timestamp::MIN, Timestamp::MAX, 100);
    let rows: Vec<_> = page.rows.iter().map(|row| (row.due_at.to_string(), row.outcome)).collect();
    let expected = [
        ("2026-11-15T12:09:00Z".to_owned(), OccurrenceOutcome::Succeeded),
        ("2026-11-15T12:10:00Z".to_owned(), OccurrenceOutcome::Retrying),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_page_says_from_when_on_it_is_whole_if_it_begins_before() {
    let mut job = put(minutely());
    let check = |job: &Job, pruned: &str, from: &str, told: bool| {
        let pruned_before = Some(at(pruned));
        let page = Ledger { pruned_before, ..ledger(job) }.page(at(from), Timestamp::MAX, 1);
        assert_eq!(page.pruned_before, pruned_before.filter(|_| told), "{pruned} {from}");
    };
    check(&job, "2026-12-01T00:00:00Z", "2026-11-20T00:00:00Z", true);
    check(&job, "2026-12-01T00:00:00Z", "2026-12-01T00:00:00Z", false);
    check(&job, "2026-11-01T00:00:00Z", "2026-10-01T00:00:00Z", false);
    // What was recorded of an earlier generation may be gone.
    job.generation = 2;
    check(&job, "2026-11-01T00:00:00Z", "2026-10-01T00:00:00Z", true);
}

fn record(nominal_at: Timestamp, status: RecordStatus) -> Record {
    Record {
        job: JobId(1),
        generation: 1,
        nominal_at,
        cause: Cause::Schedule,
        step: 0,
        attempt: 0,
        ordinal: 1,
        started_at: nominal_at,
        ended_at: nominal_at,
        status,
        message: String::new(),
    }
}

/// A job that fired once a minute for three minutes while the clock was an hour ahead, and was repaired.
fn fired_ahead(rule: Rule) -> (Job, Vec<Record>) {
    let mut job = put(rule);
    let starts = ["2026-11-15T13:00:00Z", "2026-11-15T13:01:00Z", "2026-11-15T13:02:00Z"].map(at);
    job.progress.past_at = Some(at("2026-11-15T12:00:10Z"));
    job.progress.started_count = 3;
    job.progress.ahead = vec![crate::OccurrenceRange { first_at: starts[0], last_at: starts[2] }];
    job.progress.entry = Some(Entry::scheduled(at("2026-11-15T12:01:00Z")));
    let record = |nominal_at: Timestamp| Record {
        job: job.id,
        generation: job.generation,
        nominal_at,
        cause: Cause::Schedule,
        step: 0,
        attempt: 0,
        ordinal: 1,
        started_at: nominal_at + SignedDuration::from_secs(1),
        ended_at: nominal_at + SignedDuration::from_secs(2),
        status: RecordStatus::Completed,
        message: String::new(),
    };
    let records = starts.into_iter().map(record).collect();
    (job, records)
}

#[test]
fn what_was_started_while_the_clock_was_ahead_is_told_and_not_pending() {
    let (job, records) = fired_ahead(minutely());
    let mut ledger = ledger(&job);
    ledger.records = records.iter().collect();
    let page = ledger.page(at("2026-11-15T12:59:00Z"), at("2026-11-15T13:04:00Z"), 100);
    let rows: Vec<_> = page.rows.iter().map(|row| (row.outcome, row.ahead)).collect();
    let (pending, started) = ((OccurrenceOutcome::Pending, false), (OccurrenceOutcome::Succeeded, true));
    assert_eq!(rows, [pending, started, started, started, pending, pending]);
    ledger.now = at("2026-11-15T13:01:30Z");
    let page = ledger.page(at("2026-11-15T13:01:00Z"), at("2026-11-15T13:02:00Z"), 100);
    let rows: Vec<_> = page.rows.iter().map(|row| (row.outcome, row.ahead)).collect();
    assert_eq!(rows, [(OccurrenceOutcome::Succeeded, false), started], "its time has come since");
}

#[test]
fn what_was_started_ahead_counts_once_wherever_the_window_begins() {
    // Three were started; of 100 the other 97 are to come, without the minutes that were started.
    let (job, records) = fired_ahead(counted(minutely(), 100));
    let mut ledger = ledger(&job);
    ledger.records = records.iter().collect();
    for from in
        ["2026-11-15T12:00:30Z", "2026-11-15T12:30:00Z", "2026-11-15T13:01:00Z", "2026-11-15T13:10:00Z"]
    {
        let page = ledger.page(at(from), at("2026-11-16T00:00:00Z"), 1_000);
        assert_eq!(
            page.rows.last().map(|row| row.due_at.to_string()).as_deref(),
            Some("2026-11-15T13:40:00Z")
        );
    }
}

#[test]
fn what_is_to_come_is_shown_behind_a_retry_of_what_was_started_ahead() {
    let (mut job, records) = fired_ahead(minutely());
    let retry = Entry {
        ordinal: 3,
        attempt: 1,
        due_at: at("2026-11-15T12:00:40Z"),
        ..Entry::scheduled(at("2026-11-15T13:02:00Z"))
    };
    job.progress.entry = Some(retry);
    let mut ledger = ledger(&job);
    ledger.records = records.iter().collect();
    let page = ledger.page(at("2026-11-15T12:00:30Z"), at("2026-11-15T13:05:00Z"), 1_000);
    assert_eq!(page.rows.len(), 65);
    assert_eq!(
        (page.rows[0].due_at, page.rows[0].outcome),
        (at("2026-11-15T12:01:00Z"), OccurrenceOutcome::Pending)
    );
    assert_eq!((page.rows[61].outcome, page.rows[61].ahead), (OccurrenceOutcome::Retrying, true));
}
