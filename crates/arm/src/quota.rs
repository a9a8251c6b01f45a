//! The messages about what a plan or a quota forbids: 409.
//!
//! Where a limit of a plan forbids something, the message also names the setting that raises it, for the
//! operator, and the smallest sufficient plan, for everybody else.

use punctual_model::decide::{Forbidden, Obstacle, Pace};
use punctual_model::{Collection, Limits, MaxRecurrence, PlanLimits, Sku};

use crate::collection::sku_name;
use crate::{ApiError, ApiVersion, time};

/// The setting for how far ahead a job may start.
pub(crate) const START_SETTING: &str = "plans.start_ahead_months";

/// The settings of a plan.
#[derive(Clone, Copy)]
pub(crate) enum Setting {
    Jobs,
    Recurrence,
    Collections,
    RetryInterval,
    Authentication,
}

impl Setting {
    /// The name in the configuration, such as `plans.free.jobs`.
    pub(crate) fn of(self, sku: Sku) -> String {
        let plan = match sku {
            Sku::Free => "free",
            Sku::Standard => "standard",
            Sku::Premium | Sku::P10Premium => "p10premium",
            Sku::P20Premium => "p20premium",
        };
        let key = match self {
            Self::Jobs => "jobs",
            Self::Recurrence => "recurrence",
            Self::Collections => "collections",
            Self::RetryInterval => "retry_interval_seconds",
            Self::Authentication => "authentication",
        };
        format!("plans.{plan}.{key}")
    }

    /// The limit of a plan, for people.
    fn allowed_by(self, plan: &PlanLimits) -> String {
        match self {
            Self::Jobs => plan.job_count_max.to_string(),
            Self::Recurrence => shown(plan.recurrence_max),
            Self::Collections => plan.collection_count_max.to_string(),
            Self::RetryInterval => time::time_span(plan.retry_interval_min),
            Self::Authentication => "it".to_owned(),
        }
    }
}

/// 409: a collection forbids a job.
pub fn forbidden(forbidden: &[Forbidden], collection: &Collection, limits: &Limits) -> ApiError {
    let sentences: Vec<_> = forbidden.iter().map(|one| sentence(one, collection, limits)).collect();
    ApiError::conflict(sentences.join(" "))
}

/// 409: reasons against a change of plan.
pub fn obstructed(obstacles: &[Obstacle], to: &Collection, limits: &Limits) -> ApiError {
    let reasons: Vec<_> = obstacles.iter().map(|one| reason(one, to.sku, limits)).collect();
    let (collection, plan) = (&to.key.name, plan_name(to.sku));
    let message = format!("The job collection '{collection}' can't change to the {plan} plan: ");
    ApiError::conflict(message + &reasons.join("; ") + ".")
}

/// 409: the collection has as many jobs as it may.
pub fn too_many_jobs(max: u32, collection: &Collection, limits: &Limits) -> ApiError {
    let mut message = format!(
        "The job collection has reached its quota of '{max}'. Please remove existing jobs before adding new ones."
    );
    if max == limits.of(collection.sku).job_count_max {
        let hint = hint(collection.sku, Setting::Jobs, limits, |plan| plan.job_count_max > max);
        message += &format!(" {hint}");
        if collection.quota.as_ref().and_then(|quota| quota.job_count_max) == Some(max) {
            message += &format!(" The collection's own quota, maxJobCount, is '{max}' as well.");
        }
    }
    ApiError::conflict(message)
}

/// 409: the subscription has as many collections of a plan as it may.
pub fn too_many_collections(max: u32, sku: Sku, limits: &Limits) -> ApiError {
    let message = match (sku, max) {
        (Sku::Free, 1) => "The subscription already has a free job collection. Only one free job collection \
                           can be created per subscription."
            .to_owned(),
        _ => {
            let plan = plan_name(sku);
            format!("The subscription has reached its quota of '{max}' job collections of the plan '{plan}'.")
        }
    };
    let hint = hint(sku, Setting::Collections, limits, |plan| plan.collection_count_max > max);
    ApiError::conflict(format!("{message} {hint}"))
}

/// Why a collection forbids a job, in a sentence or two.
pub(crate) fn sentence(forbidden: &Forbidden, collection: &Collection, limits: &Limits) -> String {
    let sku = collection.sku;
    match forbidden {
        Forbidden::Authentication => {
            let hint = hint(sku, Setting::Authentication, limits, |plan| plan.authentication);
            format!("HTTP outbound authentication is not available on the {} plan. {hint}", plan_name(sku))
        }
        Forbidden::Recurrence { pace, limit } => {
            let message = format!(
                "The provided recurrence {} exceeds the permissible limit of the job collection ({}).",
                shown_pace(*pace),
                shown(*limit)
            );
            if *limit != limits.of(sku).recurrence_max {
                return message;
            }
            let hint = hint(sku, Setting::Recurrence, limits, |plan| pace.within(plan.recurrence_max));
            format!("{message} {hint}")
        }
    }
}

/// A reason and the setting that it comes from; the larger plan to keep is the one that the collection has.
fn reason(obstacle: &Obstacle, sku: Sku, limits: &Limits) -> String {
    let plan = plan_name(sku);
    let (reason, setting) = match obstacle {
        Obstacle::JobCount { count, max } => {
            (format!("it has {count} jobs, where the {plan} plan allows {max}"), Setting::Jobs)
        }
        Obstacle::Recurrence(job) => {
            let limit = shown(limits.of(sku).recurrence_max);
            (format!("the job '{job}' recurs faster than {limit}"), Setting::Recurrence)
        }
        Obstacle::Authentication(job) => {
            (format!("the job '{job}' uses HTTP outbound authentication"), Setting::Authentication)
        }
    };
    format!("{reason} (setting {})", setting.of(sku))
}

/// What to do about a limit of a plan: the setting, and the smallest sufficient plan.
fn hint(sku: Sku, setting: Setting, limits: &Limits, will_do: impl Fn(&PlanLimits) -> bool) -> String {
    let name = setting.of(sku);
    match limits.larger_plan(sku, will_do) {
        Some(larger) => {
            let (plan, allowed) = (plan_name(larger), setting.allowed_by(limits.of(larger)));
            format!("The limit is the setting {name}; the plan {plan} allows {allowed}.")
        }
        None => format!("The limit is the setting {name}; no larger plan allows more."),
    }
}

/// The name of a plan, as every client knows it.
pub(crate) fn plan_name(sku: Sku) -> &'static str {
    sku_name(sku, ApiVersion::V2016_03)
}

/// A recurrence for people: `minute/1`.
pub(crate) fn shown(recurrence: MaxRecurrence) -> String {
    format!("{}/{}", recurrence.frequency, recurrence.interval)
}

fn shown_pace(pace: Pace) -> String {
    match pace.distance {
        None => shown(pace.interval),
        Some(distance) => format!("{} with {distance:#} between two occurrences", shown(pace.interval)),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use punctual_model::{CollectionKey, CollectionState, Quota};

    use super::*;

    fn collection(sku: Sku, job_count_max: Option<u32>) -> Collection {
        Collection {
            key: CollectionKey::new("s", "g", "jc"),
            location: "West US".into(),
            tags: Vec::new(),
            sku,
            state: CollectionState::Enabled,
            quota: job_count_max.map(|max| Quota { job_count_max: Some(max), ..Quota::default() }),
            created_at: Timestamp::UNIX_EPOCH,
            revision: 1,
        }
    }

    #[test]
    fn a_full_collection_is_told_the_setting_and_the_larger_plan() {
        let limits = Limits::default();
        let full = "The job collection has reached its quota of '50'. Please remove existing jobs before adding \
                    new ones.";
        let check = |max, sku, quota, expected: &str| {
            assert_eq!(too_many_jobs(max, &collection(sku, quota), &limits).message, expected);
        };
        let hint = "The limit is the setting plans.standard.jobs; the plan P20Premium allows 1000.";
        check(50, Sku::Standard, None, &format!("{full} {hint}"));
        let both = format!("{full} {hint} The collection's own quota, maxJobCount, is '50' as well.");
        check(50, Sku::Standard, Some(50), &both);
        // Where the quota of the collection itself is the limit, no plan helps.
        check(50, Sku::P20Premium, Some(50), full);
        let largest = too_many_jobs(1000, &collection(Sku::P20Premium, None), &limits).message;
        let expected = "The limit is the setting plans.p20premium.jobs; no larger plan allows more.";
        assert!(largest.ends_with(expected), "{largest}");
    }

    #[test]
    fn a_full_subscription_is_told_the_setting_and_the_larger_plan() {
        let mut limits = Limits::default();
        let check = |max, sku, limits: &Limits, expected: &str| {
            assert_eq!(too_many_collections(max, sku, limits).message, expected);
        };
        check(
            1,
            Sku::Free,
            &limits,
            "The subscription already has a free job collection. Only one free job collection can be created \
             per subscription. The limit is the setting plans.free.collections; the plan Standard allows 100.",
        );
        limits.free.collection_count_max = 2;
        check(
            2,
            Sku::Free,
            &limits,
            "The subscription has reached its quota of '2' job collections of the plan 'Free'. The limit is \
             the setting plans.free.collections; the plan Standard allows 100.",
        );
    }
}
