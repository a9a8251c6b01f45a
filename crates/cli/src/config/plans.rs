//! The limits of the plans of collections.

use jiff::SignedDuration;
use punctual_model::{
    COLLECTIONS_PER_SUBSCRIPTION_MAX, JOBS_PER_COLLECTION_MAX, Limits, MaxRecurrence, PlanLimits,
};
use punctual_recurrence::Frequency;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// The most months ahead that a limit may allow: a century.
const START_AHEAD_MONTHS_MAX: u32 = 1_200;

/// The longest retry interval that a job may have.
const RETRY_INTERVAL_SECONDS_MAX: u32 = 548 * 86_400;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plans {
    #[serde(deserialize_with = "within::<START_AHEAD_MONTHS_MAX, _>")]
    start_ahead_months: u32,
    free: Plan,
    standard: Plan,
    p10premium: Plan,
    p20premium: Plan,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    #[serde(deserialize_with = "within::<JOBS_PER_COLLECTION_MAX, _>")]
    jobs: u32,
    #[serde(deserialize_with = "recurrence")]
    recurrence: MaxRecurrence,
    #[serde(deserialize_with = "within::<COLLECTIONS_PER_SUBSCRIPTION_MAX, _>")]
    collections: u32,
    #[serde(deserialize_with = "within::<RETRY_INTERVAL_SECONDS_MAX, _>")]
    retry_interval_seconds: u32,
    authentication: bool,
}

impl Plans {
    pub(crate) fn limits(&self) -> Limits {
        let plan = |plan: &Plan| PlanLimits {
            job_count_max: plan.jobs,
            recurrence_max: plan.recurrence,
            collection_count_max: plan.collections,
            retry_interval_min: SignedDuration::from_secs(plan.retry_interval_seconds.into()),
            authentication: plan.authentication,
        };
        Limits {
            free: plan(&self.free),
            standard: plan(&self.standard),
            p10_premium: plan(&self.p10premium),
            p20_premium: plan(&self.p20premium),
            start_ahead_months_max: self.start_ahead_months,
        }
    }
}

/// A number from 1 to `MAX`.
fn within<'de, const MAX: u32, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let number = i64::deserialize(deserializer)?;
    let fits = u32::try_from(number).ok().filter(|number| (1..=MAX).contains(number));
    fits.ok_or_else(|| Error::custom(format!("must be from 1 to {MAX}, not {number}")))
}

/// A unit and how many of them, such as `minute/1`.
fn recurrence<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MaxRecurrence, D::Error> {
    let text = String::deserialize(deserializer)?;
    let parts = text.split_once('/').and_then(|(unit, interval)| {
        Some((unit.trim().parse::<Frequency>().ok()?, interval.trim().parse::<u32>().ok()?))
    });
    let Some((frequency, interval)) = parts else {
        let message = format!("'{text}' is not a unit and an interval, such as minute/1 or day/2");
        return Err(Error::custom(message));
    };
    let max = frequency.interval_max();
    if !(1..=max).contains(&i64::from(interval)) {
        let message = format!("the interval of '{text}' must be from 1 to {max}");
        return Err(Error::custom(message));
    }
    Ok(MaxRecurrence { frequency, interval })
}
