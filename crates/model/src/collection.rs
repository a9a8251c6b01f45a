//! A job collection.

use jiff::Timestamp;
use punctual_recurrence::Frequency;

use crate::{CollectionKey, Limits, Sku};

/// A set of jobs that share a region, a plan and a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Where it is.
    pub key: CollectionKey,
    /// The region's display name, such as `West US`.
    pub location: String,
    /// In the order they were given.
    pub tags: Vec<(String, String)>,
    /// The plan.
    pub sku: Sku,
    /// Whether its jobs fire.
    pub state: CollectionState,
    /// The limits that the caller asked for; those of the plan hold as well.
    pub quota: Option<Quota>,
    /// When it was created.
    pub created_at: Timestamp,
    /// Incremented by each write; 0 before the first. A write names the revision it was decided on.
    pub revision: i64,
}

impl Collection {
    /// The most jobs that it may hold: its quota, within the limits of the plan.
    pub fn job_count_max(&self, limits: &Limits) -> u32 {
        let max = limits.of(self.sku).job_count_max;
        let asked = self.quota.as_ref().and_then(|quota| quota.job_count_max);
        asked.unwrap_or(max).min(max)
    }

    /// The fastest recurrence that it allows: its quota, within the limits of the plan.
    pub fn recurrence_max(&self, limits: &Limits) -> MaxRecurrence {
        let max = limits.of(self.sku).recurrence_max;
        let asked = self.quota.as_ref().and_then(|quota| quota.recurrence_max);
        asked.filter(|asked| asked.seconds() > max.seconds()).unwrap_or(max)
    }

    /// Whether its jobs fire.
    pub fn enabled(&self) -> bool {
        self.state == CollectionState::Enabled
    }
}

/// Whether a collection's jobs fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectionState {
    /// They do.
    Enabled,
    /// They don't: somebody switched the collection off.
    Disabled,
    /// They don't: the collection is suspended, for example for billing.
    Suspended,
}

/// Limits that a caller asked for, within those of the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// The number of jobs.
    pub job_count_max: Option<u32>,
    /// Accepted and stored without effect, as in the original service.
    pub job_occurrence_max: Option<i64>,
    /// The fastest recurrence.
    pub recurrence_max: Option<MaxRecurrence>,
}

/// The fastest allowed recurrence: at most once in `interval` units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxRecurrence {
    /// The unit.
    pub frequency: Frequency,
    /// The number of units.
    pub interval: u32,
}

impl MaxRecurrence {
    /// The smallest allowed distance of two occurrences, in seconds. A month counts as 28 days and a year as
    /// 365, their shortest, so that a monthly job is within a monthly limit in February.
    pub fn seconds(self) -> i64 {
        let unit = match self.frequency {
            Frequency::Minute => 60,
            Frequency::Hour => 3_600,
            Frequency::Day => 86_400,
            Frequency::Week => 7 * 86_400,
            Frequency::Month => 28 * 86_400,
            Frequency::Year => 365 * 86_400,
        };
        unit * i64::from(self.interval)
    }
}
