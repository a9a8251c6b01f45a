//! What a plan or a quota forbids: answered with 409, in the words of the service.

use jiff::{SignedDuration, Timestamp};
use punctual_model::{ActionKind, Collection, Job, JobSpec, MaxRecurrence, Sku};
use punctual_recurrence::{Rule, Start};

use crate::ApiError;
use crate::collection::pace;

/// How many occurrences are looked at to find the closest two. At the hour or more that a limit asks
/// for, this spans at least twelve weeks, which holds every pattern of days and weeks.
const SAMPLE_COUNT: usize = 2_000;

/// Schedules choose whole minutes, so no limit up to this one needs a look at the occurrences.
const SCHEDULE_SECONDS_MIN: i64 = 60;

/// Judges a job against its collection: how fast it recurs, and whether it may authenticate itself. How
/// many jobs there are is the store's to judge, in the transaction that adds one.
pub fn check_job(spec: &JobSpec, collection: &Collection, now: Timestamp) -> Result<(), ApiError> {
    let mut reasons = Vec::new();
    if !collection.sku.allows_authentication() && authenticates(spec) {
        reasons.push("HTTP outbound authentication is not available on the Free plan.".to_owned());
    }
    let limit = collection.recurrence_max();
    if let Some(given) = too_fast(spec, limit, now) {
        reasons.push(format!(
            "The provided recurrence {given} exceeds the permissible limit of the job collection ({}).",
            pace(limit)
        ));
    }
    refuse_for(&reasons)
}

/// Judges a change of plan from anything to Free, with all jobs of the collection. Other changes are
/// always allowed: they bind new jobs only.
pub fn check_plan_change(from: &Collection, to: &Collection, jobs: &[Job]) -> Result<(), ApiError> {
    if to.sku != Sku::Free || from.sku == Sku::Free {
        return Ok(());
    }
    let mut reasons = Vec::new();
    let count_max = usize::try_from(to.sku.job_count_max()).unwrap_or(usize::MAX);
    if jobs.len() > count_max {
        reasons.push(format!("it has {} jobs, where the Free plan allows {count_max}", jobs.len()));
    }
    let limit = to.sku.recurrence_max();
    if let Some(job) = jobs.iter().find(|job| too_fast(&job.spec, limit, job.put_at).is_some()) {
        reasons.push(format!("the job '{}' recurs faster than every hour", job.key.name));
    }
    if let Some(job) = jobs.iter().find(|job| authenticates(&job.spec)) {
        reasons.push(format!("the job '{}' uses HTTP outbound authentication", job.key.name));
    }
    if reasons.is_empty() {
        return Ok(());
    }
    let message = format!("The job collection '{}' can't change to the Free plan: ", to.key.name);
    Err(ApiError::conflict(message + &reasons.join("; ") + "."))
}

fn refuse_for(reasons: &[String]) -> Result<(), ApiError> {
    if reasons.is_empty() { Ok(()) } else { Err(ApiError::conflict(reasons.join(" "))) }
}

fn authenticates(spec: &JobSpec) -> bool {
    spec.action.steps().any(|step| match &step.kind {
        ActionKind::Http(http) => http.authentication.is_some(),
        ActionKind::StorageQueue(_) | ActionKind::ServiceBusQueue(_) | ActionKind::ServiceBusTopic(_) => {
            false
        }
    })
}

/// What is too fast about a job, if anything: its interval, or two occurrences of its schedule.
fn too_fast(spec: &JobSpec, limit: MaxRecurrence, now: Timestamp) -> Option<String> {
    let rule = spec.recurrence.as_ref()?;
    let interval = u32::try_from(rule.interval.unwrap_or(1)).ok()?;
    let plain = MaxRecurrence { frequency: rule.frequency, interval };
    if plain.seconds() < limit.seconds() {
        return Some(pace(plain));
    }
    let distance = smallest_distance(rule, spec.start_at, limit, now)?;
    Some(format!("{} with {distance:#} between two occurrences", pace(plain)))
}

/// The distance of the first two occurrences of a schedule that are closer than the limit.
///
/// The zone is left out, so that a day of 23 hours does not make a daily job too fast, and so are the
/// ends of the rule; years and months count as the limit counts them.
fn smallest_distance(
    rule: &Rule,
    start_at: Option<Timestamp>,
    limit: MaxRecurrence,
    now: Timestamp,
) -> Option<SignedDuration> {
    if rule.schedule.is_none() || limit.seconds() <= SCHEDULE_SECONDS_MIN {
        return None;
    }
    // Far in the past the first occurrences are known as well, and an anchor is always given, so
    // that the run at once of a job without one is not taken for an occurrence of the schedule.
    let anchor_at = start_at.unwrap_or(now);
    let plain = Rule { count: None, end_at: None, time_zone: None, ..rule.clone() };
    let timetable = plain.check().ok()?.timetable(Start { start_at: Some(anchor_at), put_at: anchor_at });
    let least = SignedDuration::from_secs(limit.seconds());
    let mut before: Option<Timestamp> = None;
    for at in timetable.occurrences().take(SAMPLE_COUNT) {
        if let Some(distance) = before.map(|before| at.duration_since(before)).filter(|it| *it < least) {
            return Some(distance);
        }
        before = Some(at);
    }
    None
}

#[cfg(test)]
mod tests {
    use punctual_model::{
        Action, Authentication, CollectionKey, CollectionState, Counters, HttpAction, JobId, JobState,
        Progress, Quota, Secret,
    };
    use punctual_recurrence::Frequency;
    use serde_json::{Value, json};

    use super::*;

    fn now() -> Timestamp {
        "2026-11-15T12:00:10Z".parse().unwrap()
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

    #[expect(clippy::needless_pass_by_value, reason = "JSON literals read best as plain arguments")]
    fn spec(rule: Value, authentication: Option<Authentication>) -> JobSpec {
        let http = HttpAction {
            declared_https: false,
            uri: "http://x/".into(),
            method: "GET".into(),
            headers: Vec::new(),
            body: None,
            authentication,
        };
        let recurrence = (!rule.is_null()).then(|| crate::read_rule(&rule, true).unwrap());
        let action = Action { kind: ActionKind::Http(http), retry: None, error_action: None };
        JobSpec { start_at: None, action, recurrence, enabled: true }
    }

    fn basic() -> Option<Authentication> {
        Some(Authentication::Basic { username: "u".into(), password: Secret::new("p") })
    }

    #[test]
    fn a_job_keeps_the_distance_that_its_collection_asks_for() {
        let hour = (Sku::Free, None);
        let day = (Sku::Standard, Some((Frequency::Day, 1)));
        let month = (Sku::Standard, Some((Frequency::Month, 1)));
        let standard = (Sku::Standard, None);
        let check = |(sku, fastest), rule: Value, fine: bool| {
            let judged = check_job(&spec(rule.clone(), None), &collection(sku, fastest), now());
            assert_eq!(judged.is_ok(), fine, "{sku:?} {fastest:?} {rule}: {judged:?}");
        };
        check(hour, Value::Null, true);
        check(hour, json!({"frequency": "hour"}), true);
        check(hour, json!({"frequency": "minute", "interval": 60}), true);
        check(hour, json!({"frequency": "minute", "interval": 59}), false);
        check(hour, json!({"frequency": "hour", "schedule": {"minutes": [0, 30]}}), false);
        check(hour, json!({"frequency": "day", "schedule": {"minutes": [15]}}), true);
        check(hour, json!({"frequency": "day", "schedule": {"hours": [1, 2], "minutes": [0, 59]}}), false);
        check(hour, json!({"frequency": "week", "schedule": {"hours": [1, 5], "minutes": [0]}}), true);
        check(standard, json!({"frequency": "minute"}), true);
        check(
            standard,
            json!({"frequency": "day", "schedule": {"minutes": (0..60).collect::<Vec<_>>()}}),
            true,
        );
        check(
            day,
            json!({"frequency": "day", "timeZone": "Europe/Berlin", "schedule": {"hours": [3]}}),
            true,
        );
        check(day, json!({"frequency": "week", "schedule": {"weekDays": ["Monday", "Tuesday"]}}), true);
        check(day, json!({"frequency": "day", "schedule": {"hours": [0, 12]}}), false);
        check(day, json!({"frequency": "hour", "interval": 23}), false);
        check(month, json!({"frequency": "month", "schedule": {"monthDays": [-1]}}), true);
        check(month, json!({"frequency": "month", "schedule": {"monthDays": [1, 15]}}), false);
        check(month, json!({"frequency": "week", "interval": 4}), true);
    }

    #[test]
    fn the_run_at_once_is_no_occurrence_of_the_schedule() {
        // The job is put ten seconds after a full hour, and runs at once and then at each full hour.
        let hourly = spec(json!({"frequency": "day", "schedule": {"minutes": [1]}}), None);
        assert_eq!(check_job(&hourly, &collection(Sku::Free, None), now()), Ok(()));
    }

    #[test]
    fn authentication_needs_a_plan_that_has_it() {
        let with = spec(Value::Null, basic());
        let error = check_job(&with, &collection(Sku::Free, None), now()).unwrap_err();
        assert_eq!((error.status, error.code), (409, "Conflict"));
        assert_eq!(check_job(&with, &collection(Sku::Standard, None), now()), Ok(()));
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
        let mut jobs: Vec<_> =
            (0..4).map(|index| job(&format!("j{index}"), spec(Value::Null, None))).collect();
        assert_eq!(check_plan_change(&standard, &free, &jobs), Ok(()));
        jobs.push(job("fast", spec(json!({"frequency": "minute"}), None)));
        jobs.push(job("secret", spec(Value::Null, basic())));
        let message = check_plan_change(&standard, &free, &jobs).unwrap_err().message;
        for part in ["6 jobs", "'fast'", "'secret'"] {
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(check_plan_change(&collection(Sku::P20Premium, None), &standard, &jobs), Ok(()));
    }
}
