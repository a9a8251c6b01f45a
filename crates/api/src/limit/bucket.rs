//! A token bucket: how much may be done at once, and how fast that comes back. Time is an argument.

use std::time::Duration;

use jiff::Timestamp;

/// How much of something is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// How much comes back in a second; more than 0.
    pub per_second: f64,
    /// How much there is at most, and at first.
    pub burst: f64,
}

/// What is left of a rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    level: f64,
    at: Timestamp,
}

impl Bucket {
    pub(super) fn full(rate: Rate, now: Timestamp) -> Self {
        Self { level: rate.burst, at: now }
    }

    /// What is left now.
    pub(super) fn left(&mut self, rate: Rate, now: Timestamp) -> f64 {
        // A clock that was set back gives nothing, and takes nothing.
        let passed = now.duration_since(self.at).as_secs_f64().max(0.0);
        self.level = (self.level + passed * rate.per_second).min(rate.burst);
        self.at = now;
        self.level
    }

    /// How long to wait until so much may be taken; none if it may now. What is more than there ever is may be taken when
    /// it is full.
    pub(super) fn wait(&mut self, amount: f64, rate: Rate, now: Timestamp) -> Option<Duration> {
        let missing = amount.min(rate.burst) - self.left(rate, now);
        // Less than a millionth is a rounding error.
        (missing > 1e-6)
            .then(|| Duration::try_from_secs_f64(missing / rate.per_second).unwrap_or(Duration::MAX))
    }

    /// Takes so much; whoever asked [how long to wait](Self::wait) finds it there.
    pub(super) fn take(&mut self, amount: f64) {
        self.level -= amount;
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    const RATE: Rate = Rate { per_second: 2.0, burst: 5.0 };

    fn at(millis: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_millis(millis)
    }

    #[test]
    fn a_burst_is_taken_at_once_and_comes_back_with_time() {
        let mut bucket = Bucket::full(RATE, at(0));
        for left in [4.0, 3.0, 2.0, 1.0, 0.0] {
            assert_eq!(bucket.wait(1.0, RATE, at(0)), None);
            bucket.take(1.0);
            assert!((bucket.left(RATE, at(0)) - left).abs() < 1e-6);
        }
        assert_eq!(bucket.wait(1.0, RATE, at(0)), Some(Duration::from_millis(500)));
        assert_eq!(bucket.wait(1.0, RATE, at(400)), Some(Duration::from_millis(100)));
        assert_eq!(bucket.wait(1.0, RATE, at(500)), None);
        bucket.take(1.0);
        // Never more than a burst.
        assert!((bucket.left(RATE, at(3_600_000)) - 5.0).abs() < 1e-6);
    }

    #[test]
    fn a_clock_that_is_set_back_neither_gives_nor_takes() {
        let mut bucket = Bucket::full(RATE, at(10_000));
        bucket.take(5.0);
        assert_eq!(bucket.wait(1.0, RATE, at(0)), Some(Duration::from_millis(500)));
        assert_eq!(bucket.wait(1.0, RATE, at(500)), None);
    }

    #[test]
    fn more_than_a_burst_waits_until_it_is_full_and_is_owed_then() {
        let mut bucket = Bucket::full(RATE, at(0));
        assert_eq!(bucket.wait(100.0, RATE, at(0)), None);
        bucket.take(100.0);
        assert_eq!(bucket.wait(1.0, RATE, at(0)), Some(Duration::from_secs(48)));
    }
}
