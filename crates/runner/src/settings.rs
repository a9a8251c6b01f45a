//! What can be set about the runner.

use std::time::Duration;

use jiff::SignedDuration;
use punctual_model::Limits;

/// How the runner works.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many claims may be held or under way at once.
    pub slots: usize,
    /// How many attempts may be under way to one target at once, so that a slow one can't take all slots.
    pub slots_per_target: usize,
    /// How long before they are due entries are claimed.
    pub look_ahead: SignedDuration,
    /// The agenda is looked at this often whatever happens, so that a lost wake-up, or a clock that was set, costs
    /// a second at most.
    pub poll: Duration,
    /// How long a stop waits for attempts under way.
    pub grace: Duration,
    /// How long records and ended jobs are kept.
    pub retention: SignedDuration,
    /// How many records of a job are kept; all within the retention if 0.
    pub records_per_job_max: u32,
    /// What plans allow: how often is tried again where no retry policy was given depends on it.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            slots: 16_384,
            slots_per_target: 256,
            look_ahead: SignedDuration::from_secs(1),
            poll: Duration::from_secs(1),
            grace: Duration::from_secs(10),
            retention: SignedDuration::from_hours(60 * 24),
            records_per_job_max: 0,
            limits: Limits::default(),
        }
    }
}
