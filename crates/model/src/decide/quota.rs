//! What a plan or a quota forbids.
//!
//! How many jobs a collection has, and how many collections a subscription, is the store's to judge, in the
//! transaction that adds one.

use jiff::{SignedDuration, Timestamp};
use punctual_recurrence::{Rule, Start};

use crate::{Collection, Job, JobSpec, Limits, MaxRecurrence, Name, PlanLimits, Sku};

/// How many occurrences are looked at to find the closest two. At the hour or more that a limit asks
/// for, this spans at least twelve weeks, which holds every pattern of days and weeks.
const SAMPLE_COUNT: usize = 2_000;

/// Schedules choose whole minutes, so no limit up to this one needs a look at the occurrences.
const SCHEDULE_SECONDS_MIN: i64 = 60;

/// What a collection forbids about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forbidden {
    /// An HTTP action authenticates itself, which the plan does not allow.
    Authentication,
    /// The job recurs faster than the collection allows.
    Recurrence {
        /// How fast.
        pace: Pace,
        /// The fastest that is allowed.
        limit: MaxRecurrence,
    },
}

/// How fast a job recurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The interval of its rule.
    pub interval: MaxRecurrence,
    /// Two occurrences of its schedule that are closer than the limit, where the interval itself is not.
    pub distance: Option<SignedDuration>,
}

impl Pace {
    /// Whether a limit allows it.
    pub fn within(self, limit: MaxRecurrence) -> bool {
        let seconds = self.distance.map_or(self.interval.seconds(), |distance| distance.as_secs());
        seconds >= limit.seconds()
    }
}

/// What stands in the way of a change of plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// There are more jobs than the plan allows.
    JobCount {
        /// How many there are.
        count: usize,
        /// How many the plan allows.
        max: u32,
    },
    /// The job of this name recurs faster than the plan allows.
    Recurrence(Name),
    /// The job of this name has an HTTP action that authenticates itself, which the plan does not allow.
    Authentication(Name),
}

/// Everything that a collection forbids about a job put at `now`.
pub fn forbidden(spec: &JobSpec, collection: &Collection, limits: &Limits, now: Timestamp) -> Vec<Forbidden> {
    let mut found = Vec::new();
    if !limits.of(collection.sku).authentication && authenticates(spec) {
        found.push(Forbidden::Authentication);
    }
    let limit = collection.recurrence_max(limits);
    found.extend(too_fast(spec, limit, now).map(|pace| Forbidden::Recurrence { pace, limit }));
    found
}

/// Everything that stands in the way of a change of plan from anything to Free, given all jobs of the
/// collection; of each kind the first job. Other changes are always allowed: they bind new jobs only.
pub fn obstacles(from: &Collection, to: &Collection, limits: &Limits, jobs: &[Job]) -> Vec<Obstacle> {
    if to.sku != Sku::Free || from.sku == Sku::Free {
        return Vec::new();
    }
    let PlanLimits { job_count_max: max, recurrence_max, authentication, .. } = *limits.of(to.sku);
    let mut found = Vec::new();
    if jobs.len() > usize::try_from(max).unwrap_or(usize::MAX) {
        found.push(Obstacle::JobCount { count: jobs.len(), max });
    }
    let too_fast = jobs.iter().find(|job| too_fast(&job.spec, recurrence_max, job.put_at).is_some());
    found.extend(too_fast.map(|job| Obstacle::Recurrence(job.key.name.clone())));
    let authenticates = jobs.iter().find(|job| !authentication && authenticates(&job.spec));
    found.extend(authenticates.map(|job| Obstacle::Authentication(job.key.name.clone())));
    found
}

fn authenticates(spec: &JobSpec) -> bool {
    spec.action.steps().any(|step| step.kind.authentication().is_some())
}

/// How fast a job recurs, if that is too fast.
fn too_fast(spec: &JobSpec, limit: MaxRecurrence, now: Timestamp) -> Option<Pace> {
    let rule = spec.recurrence.as_ref()?;
    let interval = u32::try_from(rule.interval.unwrap_or(1)).ok()?;
    let interval = MaxRecurrence { frequency: rule.frequency, interval };
    if interval.seconds() < limit.seconds() {
        return Some(Pace { interval, distance: None });
    }
    let distance = smallest_distance(rule, spec.start_at, limit, now)?;
    Some(Pace { interval, distance: Some(distance) })
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
