//! The clock and the random numbers of a world.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_model::{Clock, RandomSource};

use crate::op::dawn;
use crate::rng::Rng;

/// The clock of one node: the time of the world plus the skew of the node.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeClock {
    /// What the wall clock shows, since the start of the world.
    elapsed_ms: Arc<AtomicI64>,
    /// How much time has really passed.
    passed_ms: Arc<AtomicU64>,
    skew_ms: Arc<AtomicI64>,
}

impl NodeClock {
    /// A clock of the same world without skew.
    pub(crate) fn another(&self) -> Self {
        let (elapsed_ms, passed_ms) = (Arc::clone(&self.elapsed_ms), Arc::clone(&self.passed_ms));
        Self { elapsed_ms, passed_ms, skew_ms: Arc::default() }
    }

    /// Time passes.
    pub(crate) fn advance(&self, by_ms: i64) {
        self.set_forward(by_ms);
        self.passed_ms.fetch_add(u64::try_from(by_ms).unwrap_or(0), Ordering::Relaxed);
    }

    /// Sets the wall clock.
    pub(crate) fn set_forward(&self, by_ms: i64) {
        self.elapsed_ms.fetch_add(by_ms, Ordering::Relaxed);
    }

    /// How much time has really passed.
    pub(crate) fn uptime(&self) -> Duration {
        Duration::from_millis(self.passed_ms.load(Ordering::Relaxed))
    }

    /// Sets the skew of this clock.
    pub(crate) fn set_skew(&self, ms: i64) {
        self.skew_ms.store(ms, Ordering::Relaxed);
    }
}

impl Clock for NodeClock {
    fn now(&self) -> Timestamp {
        let ms = self.elapsed_ms.load(Ordering::Relaxed) + self.skew_ms.load(Ordering::Relaxed);
        dawn() + SignedDuration::from_millis(ms)
    }
}

/// A source of numbers that counts.
#[derive(Debug, Default)]
pub(crate) struct Counting(AtomicU64);

impl RandomSource for Counting {
    fn random(&self) -> u128 {
        let mut rng = Rng::new(self.0.fetch_add(1, Ordering::Relaxed));
        u128::from(rng.next_number()) << 64 | u128::from(rng.next_number())
    }
}
