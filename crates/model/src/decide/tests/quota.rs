//! What plans and quotas forbid.

use jiff::Timestamp;
use punctual_recurrence::{Frequency, MonthlyOccurrence, Rule, Schedule, Weekday};

use super::world::{at, once};
use crate::decide::{self, Forbidden, Obstacle};
use crate::{
    ActionKind, Authentication, Collection, CollectionKey, CollectionState, Counters, Job, JobId, JobSpec,
    JobState, Limits, MaxRecurrence, Progress, Quota, Secret, Sku,
};

/// Ten seconds after a full hour.
fn now() -> Timestamp {
    at(10)
}

fn collection(sku: Sku, fastest: Option<(Frequency, u32)>) -> Collection {
    let recurrence_max = fastest.map(|(frequency, interval)| MaxRecurrence { frequency, interval });
    Collection {
        key: CollectionKey::new("s", "g", "jc"),
        location: "West US".into(),
        tags: Vec::new(),
        sku,
        state: CollectionState::Enabled,
        quota: recurrence_max.map(|max| Quota { recurrence_max: Some(max), ..Quota::default() }),
        created_at: now(),
        revision: 1,
    }
}

fn forbidden(spec: &JobSpec, collection: &Collection, now: Timestamp) -> Vec<Forbidden> {
    decide::forbidden(spec, collection, &Limits::default(), now)
}

fn obstacles(from: &Collection, to: &Collection, jobs: &[Job]) -> Vec<Obstacle> {
    decide::obstacles(from, to, &Limits::default(), jobs)
}

fn recurring(rule: Rule) -> JobSpec {
    JobSpec { recurrence: Some(rule), ..once() }
}

fn with_schedule(frequency: Frequency, schedule: Schedule) -> Rule {
    Rule { schedule: Some(schedule), ..Rule::every(1, frequency) }
}

fn times(hours: &[i64], minutes: &[i64]) -> Schedule {
    Schedule { hours: hours.to_vec(), minutes: minutes.to_vec(), ..Schedule::default() }
}

fn month_days(days: &[i64]) -> Schedule {
    Schedule { month_days: days.to_vec(), ..Schedule::default() }
}

fn authenticated() -> JobSpec {
    let mut spec = once();
    if let ActionKind::Http(http) = &mut spec.action.kind {
        http.authentication =
            Some(Authentication::Basic { username: "u".into(), password: Secret::new("p") });
    }
    spec
}

#[test]
fn a_job_keeps_the_distance_that_its_collection_asks_for() {
    use Frequency::{Day, Hour, Minute, Month, Week};
    let hour = (Sku::Free, None);
    let day = (Sku::Standard, Some((Day, 1)));
    let month = (Sku::Standard, Some((Month, 1)));
    let standard = (Sku::Standard, None);
    let check = |(sku, fastest), rule: Rule, fine: bool| {
        let found = forbidden(&recurring(rule.clone()), &collection(sku, fastest), now());
        assert_eq!(found.is_empty(), fine, "{sku:?} {fastest:?} {rule:?}: {found:?}");
    };
    assert_eq!(forbidden(&once(), &collection(Sku::Free, None), now()), []);
    check(hour, Rule::every(1, Hour), true);
    check(hour, Rule::every(60, Minute), true);
    check(hour, Rule::every(59, Minute), false);
    check(hour, with_schedule(Hour, times(&[], &[0, 30])), false);
    check(hour, with_schedule(Day, times(&[], &[15])), true);
    check(hour, with_schedule(Day, times(&[1, 2], &[0, 59])), false);
    check(hour, with_schedule(Week, times(&[1, 5], &[0])), true);
    check(standard, Rule::every(1, Minute), true);
    check(standard, with_schedule(Day, times(&[], &(0..60).collect::<Vec<_>>())), true);
    let berlin = Some("Europe/Berlin".to_owned());
    check(day, Rule { time_zone: berlin, ..with_schedule(Day, times(&[3], &[])) }, true);
    let week_days = vec![Weekday::Monday, Weekday::Tuesday];
    check(day, with_schedule(Week, Schedule { week_days, ..Schedule::default() }), true);
    check(day, with_schedule(Day, times(&[0, 12], &[])), false);
    check(day, Rule::every(23, Hour), false);
    check(month, with_schedule(Month, month_days(&[-1])), true);
    check(month, with_schedule(Month, month_days(&[1, 15])), false);
    let sundays = vec![MonthlyOccurrence { day: Weekday::Sunday, occurrence: None }];
    check(
        month,
        with_schedule(Month, Schedule { monthly_occurrences: sundays, ..Schedule::default() }),
        false,
    );
    check(month, Rule::every(4, Week), true);
}

#[test]
fn the_run_at_once_is_no_occurrence_of_the_schedule() {
    // The job is put ten seconds after a full hour, and runs at once and then in each hour's first minute.
    let hourly = recurring(with_schedule(Frequency::Day, times(&[], &[1])));
    assert_eq!(forbidden(&hourly, &collection(Sku::Free, None), now()), []);
}

#[test]
fn authentication_needs_a_plan_that_has_it() {
    let found = forbidden(&authenticated(), &collection(Sku::Free, None), now());
    assert_eq!(found, [Forbidden::Authentication]);
    assert_eq!(forbidden(&authenticated(), &collection(Sku::Standard, None), now()), []);
}

#[test]
fn a_change_to_free_names_everything_in_its_way() {
    let job = |name: &str, spec: JobSpec| Job {
        id: JobId(1),
        key: CollectionKey::new("s", "g", "jc").job(name),
        spec: spec.into(),
        state: JobState::Enabled,
        generation: 1,
        put_at: now(),
        counters: Counters::default(),
        last_started_at: None,
        progress: Progress::default(),
        revision: 1,
    };
    let standard = collection(Sku::Standard, None);
    let free = collection(Sku::Free, None);
    let mut jobs: Vec<_> = (0..4).map(|index| job(&format!("j{index}"), once())).collect();
    assert_eq!(obstacles(&standard, &free, &jobs), []);
    jobs.push(job("fast", recurring(Rule::every(1, Frequency::Minute))));
    jobs.push(job("secret", authenticated()));
    let expected = [
        Obstacle::JobCount { count: 6, max: 5 },
        Obstacle::Recurrence(jobs[4].key.name.clone()),
        Obstacle::Authentication(jobs[5].key.name.clone()),
    ];
    assert_eq!(obstacles(&standard, &free, &jobs), expected);
    assert_eq!(obstacles(&collection(Sku::P20Premium, None), &standard, &jobs), []);
}

#[test]
fn limits_that_were_set_are_those_that_hold() {
    let mut limits = Limits::default();
    limits.free.authentication = true;
    limits.free.recurrence_max = MaxRecurrence { frequency: Frequency::Minute, interval: 5 };
    limits.free.job_count_max = 1;
    let every = |minutes| recurring(Rule::every(minutes, Frequency::Minute));
    let free = collection(Sku::Free, None);
    assert_eq!(decide::forbidden(&authenticated(), &free, &limits, now()), []);
    assert_eq!(decide::forbidden(&every(5), &free, &limits, now()), []);
    assert!(!decide::forbidden(&every(4), &free, &limits, now()).is_empty());
    // A quota that was asked for when the limit was another never reaches beyond the limit.
    let fast = collection(Sku::Free, Some((Frequency::Minute, 1)));
    assert!(!decide::forbidden(&every(4), &fast, &limits, now()).is_empty());
    let many = Quota { job_count_max: Some(7), ..Quota::default() };
    let many = Collection { quota: Some(many), ..free };
    assert_eq!((many.job_count_max(&limits), many.job_count_max(&Limits::default())), (1, 5));
}
