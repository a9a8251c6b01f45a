//! The clocks: the machine's, and a virtual one for the schedule.

use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use punctual_model::Clock;

/// The time now, of the machine, in the ticks of 100 ns that all our times have.
#[expect(clippy::disallowed_methods, reason = "the one place that owns the real clock")]
pub(crate) fn real_now() -> Timestamp {
    whole_ticks(Timestamp::now())
}

fn whole_ticks(at: Timestamp) -> Timestamp {
    Timestamp::from_nanosecond(at.as_nanosecond() / 100 * 100).unwrap_or(at)
}

/// The machine's clock.
pub(crate) struct RealClock;

impl Clock for RealClock {
    fn now(&self) -> Timestamp {
        real_now()
    }
}

/// A clock that starts when and goes as fast as it is told. It never goes back.
pub(crate) struct VirtualClock {
    start_at: Timestamp,
    started: Instant,
    speed: f64,
}

impl VirtualClock {
    #[expect(clippy::disallowed_methods, reason = "a virtual clock is driven by the real one")]
    pub(crate) fn new(start_at: Timestamp, speed: f64) -> Self {
        Self { start_at, started: Instant::now(), speed }
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        let elapsed = self.started.elapsed().as_secs_f64() * self.speed;
        let elapsed = SignedDuration::try_from_secs_f64(elapsed).unwrap_or(SignedDuration::MAX);
        whole_ticks(self.start_at.saturating_add(elapsed).unwrap_or(Timestamp::MAX))
    }

    fn speed(&self) -> f64 {
        self.speed
    }
}
