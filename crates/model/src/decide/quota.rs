//! What a plan or a quota forbids.
//!
//! How many jobs a collection may have, and how many collections a subscription, is checked by the store, in
//! the transaction that adds one.

use jiff::{SignedDuration, Timestamp};
use punctual_recurrence::{Rule, Start};

use crate::{Collection, Job, JobSpec, Limits, MaxRecurrence, Name, PlanLimits, Sku};

/// The number of occurrences that are examined to find the closest two. Limits are an hour or more, so this
/// spans at least twelve weeks, which include every pattern of days and weeks.
const SAMPLE_COUNT: usize = 2_000;

/// Schedules choose whole minutes, so a limit of up to a minute needs no look at the occurrences.
const SCHEDULE_SECONDS_MIN: i64 = 60;

/// A reason why a collection forbids a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forbidden {
    /// An HTTP action uses authentication, which the plan does not allow.
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
    /// The distance of two occurrences of the schedule that are closer than the limit, where the interval
    /// itself is within it.
    pub distance: Option<SignedDuration>,
}

impl Pace {
    /// Whether a limit allows it.
    pub fn within(self, limit: MaxRecurrence) -> bool {
        let seconds = self.distance.map_or(self.interval.seconds(), |distance| distance.as_secs());
        seconds >= limit.seconds()
    }
}

/// A reason why a collection can't change its plan.
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
    /// The job of this name has an HTTP action with authentication, which the plan does not allow.
    Authentication(Name),
}

/// All reasons why a collection forbids a job that is put at `now`.
pub fn forbidden(spec: &JobSpec, collection: &Collection, limits: &Limits, now: Timestamp) -> Vec<Forbidden> {
    let mut found = Vec::new();
    if !limits.of(collection.sku).authentication && authenticates(spec) {
        found.push(Forbidden::Authentication);
    }
    let rule = spec.recurrence.as_ref();
    found.extend(rule.and_then(|rule| too_often(rule, spec.start_at, collection, limits, now)));
    found
}

/// That a collection forbids a rule which is put at `now` because it recurs too fast; none if it does not.
pub fn too_often(
    rule: &Rule,
    start_at: Option<Timestamp>,
    collection: &Collection,
    limits: &Limits,
    now: Timestamp,
) -> Option<Forbidden> {
    let limit = collection.recurrence_max(limits);
    too_fast(rule, start_at, limit, now).map(|pace| Forbidden::Recurrence { pace, limit })
}

/// All reasons against a change to the plan Free, given all jobs of the collection; of each kind the first job.
/// Changes to other plans are always allowed: they bind new jobs only.
pub fn obstacles(from: &Collection, to: &Collection, limits: &Limits, jobs: &[Job]) -> Vec<Obstacle> {
    if to.sku != Sku::Free || from.sku == Sku::Free {
        return Vec::new();
    }
    let PlanLimits { job_count_max: max, recurrence_max, authentication, .. } = *limits.of(to.sku);
    let mut found = Vec::new();
    if jobs.len() > usize::try_from(max).unwrap_or(usize::MAX) {
        found.push(Obstacle::JobCount { count: jobs.len(), max });
    }
    let is_too_fast = |job: &&Job| {
        let rule = job.spec.recurrence.as_ref();
        rule.and_then(|rule| too_fast(rule, job.spec.start_at, recurrence_max, job.put_at)).is_some()
    };
    let too_fast = jobs.iter().find(is_too_fast);
    found.extend(too_fast.map(|job| Obstacle::Recurrence(job.key.name.clone())));
    let authenticates = jobs.iter().find(|job| !authentication && authenticates(&job.spec));
    found.extend(authenticates.map(|job| Obstacle::Authentication(job.key.name.clone())));
    found
}

fn authenticates(spec: &JobSpec) -> bool {
    spec.action.steps().any(|step| step.kind.authentication().is_some())
}

/// How fast a job recurs; none if the limit allows it.
fn too_fast(rule: &Rule, start_at: Option<Timestamp>, limit: MaxRecurrence, now: Timestamp) -> Option<Pace> {
    let interval = u32::try_from(rule.interval.unwrap_or(1)).ok()?;
    let interval = MaxRecurrence { frequency: rule.frequency, interval };
    if interval.seconds() < limit.seconds() {
        return Some(Pace { interval, distance: None });
    }
    let distance = smallest_distance(rule, start_at, limit, now)?;
    Some(Pace { interval, distance: Some(distance) })
}

/// The distance of the first two occurrences of a schedule that are closer than the limit.
///
/// The zone is ignored, so that a day of 23 hours does not make a daily job too fast, and so are the end of the
/// rule and its count. Years and months count as long as they do in the limit.
fn smallest_distance(
    rule: &Rule,
    start_at: Option<Timestamp>,
    limit: MaxRecurrence,
    now: Timestamp,
) -> Option<SignedDuration> {
    if rule.schedule.is_none() || limit.seconds() <= SCHEDULE_SECONDS_MIN {
        return None;
    }
    // The occurrences are searched from the anchor, which may be far in the past. An anchor is always given, so
    // that the first occurrence at the PUT of a job without a start time does not count as one of the schedule.
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
