//! The settings of the runner.

use std::time::Duration;

use jiff::SignedDuration;
use punctual_model::Limits;

/// The settings of the runner.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The most claims that may be held or in flight.
    pub slots: usize,
    /// The most attempts in flight at one target, so that a slow one can't take all slots.
    pub slots_per_target: usize,
    /// The most attempts in flight of the jobs of one collection, so that one with many slow targets can't either.
    pub slots_per_collection: usize,
    /// How long before they are due entries are claimed.
    pub look_ahead: SignedDuration,
    /// How often the agenda is looked at without a wake-up, so that a lost wake-up, or a step of the clock,
    /// costs at most a second.
    pub poll: Duration,
    /// How long a stop waits for attempts in flight.
    pub grace: Duration,
    /// How long records and ended jobs are kept.
    pub retention: SignedDuration,
    /// The most records of a job that are kept; all within the retention if 0.
    pub records_per_job_max: u32,
    /// The limits of the plans: default retries depend on them.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            slots: 16_384,
            slots_per_target: 256,
            slots_per_collection: 2_048,
            look_ahead: SignedDuration::from_secs(1),
            poll: Duration::from_secs(1),
            grace: Duration::from_secs(10),
            retention: SignedDuration::from_hours(60 * 24),
            records_per_job_max: 0,
            limits: Limits::default(),
        }
    }
}
