//! The plans of collections and what each allows.
//!
//! The limits are settings; the defaults are those of the original service. A limit applies to later writes:
//! what is stored already stays and runs.

use jiff::SignedDuration;
use punctual_recurrence::Frequency;

use crate::{MaxRecurrence, Retries};

/// The most jobs per collection that a limit may allow: enabling or disabling a collection reads them all.
pub const JOBS_PER_COLLECTION_MAX: u32 = 10_000;

/// The most collections of one plan per subscription that a limit may allow.
pub const COLLECTIONS_PER_SUBSCRIPTION_MAX: u32 = 200_000;

/// The retries of an action without a retry policy.
const RETRY_COUNT_DEFAULT: u32 = 4;
const RETRY_INTERVAL_DEFAULT: SignedDuration = SignedDuration::from_secs(30);

/// The plan of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sku {
    /// For trying out.
    Free,
    /// For everyday use.
    Standard,
    /// The premium plan of the older api-versions; limits as P10.
    Premium,
    /// Many collections.
    P10Premium,
    /// Many collections with many jobs.
    P20Premium,
}

impl Sku {
    /// All of them, the smallest first.
    pub const ALL: [Self; 5] =
        [Self::Free, Self::Standard, Self::Premium, Self::P10Premium, Self::P20Premium];
}

/// What a plan allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanLimits {
    /// How many jobs a collection may hold.
    pub job_count_max: u32,
    /// The fastest recurrence of a job.
    pub recurrence_max: MaxRecurrence,
    /// How many collections of this plan a subscription may have.
    pub collection_count_max: u32,
    /// The shortest pause before a retry.
    pub retry_interval_min: SignedDuration,
    /// Whether HTTP actions may use authentication.
    pub authentication: bool,
}

impl PlanLimits {
    /// The retries of an action without a retry policy.
    pub fn default_retries(&self) -> Retries {
        Retries { interval: self.retry_interval_min.max(RETRY_INTERVAL_DEFAULT), count: RETRY_COUNT_DEFAULT }
    }
}

/// The limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The limits of the plan Free.
    pub free: PlanLimits,
    /// The limits of the plan Standard.
    pub standard: PlanLimits,
    /// The limits of the plans P10Premium and Premium.
    pub p10_premium: PlanLimits,
    /// The limits of the plan P20Premium.
    pub p20_premium: PlanLimits,
    /// How many months ahead a job may start.
    pub start_ahead_months_max: u32,
}

impl Limits {
    /// The limits of a plan.
    pub fn of(&self, sku: Sku) -> &PlanLimits {
        match sku {
            Sku::Free => &self.free,
            Sku::Standard => &self.standard,
            Sku::Premium | Sku::P10Premium => &self.p10_premium,
            Sku::P20Premium => &self.p20_premium,
        }
    }

    /// The smallest larger plan whose limits are sufficient.
    pub fn larger_plan(&self, than: Sku, will_do: impl Fn(&PlanLimits) -> bool) -> Option<Sku> {
        // Premium is P10Premium under another name.
        let above = Sku::ALL.into_iter().filter(|sku| *sku > than && *sku != Sku::Premium);
        above.filter(|sku| self.of(*sku) != self.of(than)).find(|sku| will_do(self.of(*sku)))
    }
}

impl Default for Limits {
    fn default() -> Self {
        let every = |frequency| MaxRecurrence { frequency, interval: 1 };
        let standard = PlanLimits {
            job_count_max: 50,
            recurrence_max: every(Frequency::Minute),
            collection_count_max: 100,
            retry_interval_min: SignedDuration::from_secs(15),
            authentication: true,
        };
        Self {
            free: PlanLimits {
                job_count_max: 5,
                recurrence_max: every(Frequency::Hour),
                collection_count_max: 1,
                retry_interval_min: SignedDuration::from_hours(1),
                authentication: false,
            },
            standard,
            p10_premium: PlanLimits { collection_count_max: 10_000, ..standard },
            p20_premium: PlanLimits { job_count_max: 1_000, collection_count_max: 10_000, ..standard },
            start_ahead_months_max: 18,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_plan_that_will_do_is_named() {
        let limits = Limits::default();
        let more_jobs = |than: Sku| {
            let count = limits.of(than).job_count_max;
            limits.larger_plan(than, |plan| plan.job_count_max > count)
        };
        assert_eq!(more_jobs(Sku::Free), Some(Sku::Standard));
        assert_eq!(more_jobs(Sku::Standard), Some(Sku::P20Premium));
        assert_eq!(more_jobs(Sku::Premium), Some(Sku::P20Premium));
        assert_eq!(more_jobs(Sku::P20Premium), None);
        assert_eq!(limits.larger_plan(Sku::Free, |plan| plan.authentication), Some(Sku::Standard));
    }

    #[test]
    fn retries_without_a_policy_keep_to_the_plan() {
        let seconds = |plan: &PlanLimits| plan.default_retries().interval.as_secs();
        let limits = Limits::default();
        assert_eq!((seconds(&limits.free), seconds(&limits.standard)), (3_600, 30));
        let slow = PlanLimits { retry_interval_min: SignedDuration::from_mins(5), ..limits.standard };
        assert_eq!(seconds(&slow), 300);
    }
}
