//! Decides how long a group waits for more writes.
//!
//! Callers that were just answered often come back at once. Without waiting, the first of them is written alone
//! and the others miss that COMMIT: groups have half of the callers, alternately. On a slow disk it pays to
//! wait a little for callers that were there lately.

use std::time::{Duration, Instant};

use super::GROUP;

/// On a faster disk there is nothing to gain.
const SLOW: Duration = Duration::from_millis(1);
/// The longest wait for more writes.
const WAIT_MAX: Duration = Duration::from_millis(5);
/// How often to look for more writes.
const LOOK_EVERY: Duration = Duration::from_micros(50);
/// This many COMMITs in a row must have been slow. Claims write nothing, so this never delays firing.
const MEMORY: usize = 4;

#[derive(Default)]
pub(super) struct Gathering {
    /// The durations of the last COMMITs.
    costs: [Duration; MEMORY],
    /// The number of writes after the last group: those that were answered and those waiting.
    company: usize,
}

impl Gathering {
    /// How long a group of this size may wait for others.
    fn patience(&self, size: usize) -> Duration {
        let cost = self.costs.into_iter().min().unwrap_or_default();
        if cost < SLOW || size >= self.company { Duration::ZERO } else { (cost / 4).min(WAIT_MAX) }
    }

    /// Waits for more writes, if that is worth while. `gather` takes them into the group and returns its size.
    pub(super) fn wait(&self, size: usize, gather: impl FnMut() -> usize) {
        if self.patience(size).is_zero() {
            return;
        }
        let since = now();
        self.wait_by(size, gather, || {
            pause();
            since.elapsed()
        });
    }

    /// The same with a clock that lets a little time pass and returns the time since the start.
    fn wait_by(&self, size: usize, mut gather: impl FnMut() -> usize, mut look_up: impl FnMut() -> Duration) {
        let patience = self.patience(size);
        while gather() < self.company && look_up() < patience {}
    }

    /// Records how long the COMMIT of a group took, and how many writes waited when it was done.
    pub(super) fn note(&mut self, cost: Duration, size: usize, waiting: usize) {
        self.costs.rotate_left(1);
        self.costs[MEMORY - 1] = cost;
        self.company = (size + waiting).min(GROUP);
    }
}

#[expect(clippy::disallowed_methods, reason = "how long the disk takes is real time")]
pub(super) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "the queue has no wait with an end, and this one is short")]
fn pause() {
    std::thread::sleep(LOOK_EVERY);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(cost_ms: u64, size: usize, waiting: usize) -> Gathering {
        let mut gathering = Gathering::default();
        for _ in 0..MEMORY {
            gathering.note(Duration::from_millis(cost_ms), size, waiting);
        }
        gathering
    }

    #[test]
    fn a_group_waits_only_for_those_who_were_there_and_only_where_the_disk_is_slow() {
        assert!(after(10, 8, 8).patience(1) > Duration::from_millis(2));
        assert_eq!(after(10, 8, 8).patience(16), Duration::ZERO, "all are there");
        assert_eq!(after(10, 1, 0).patience(1), Duration::ZERO, "nobody else was there");
        assert_eq!(after(0, 8, 8).patience(1), Duration::ZERO, "the disk is fast");
        assert_eq!(after(60_000, 8, 8).patience(1), WAIT_MAX, "patience has an end");
        assert_eq!(Gathering::default().patience(1), Duration::ZERO);
        let mut mixed = after(10, 8, 8);
        mixed.note(Duration::ZERO, 8, 8);
        assert_eq!(mixed.patience(1), Duration::ZERO, "one of the last was fast");
    }

    #[test]
    fn waiting_ends_when_all_have_come() {
        let mut size = 1;
        let comes = || {
            size += 1;
            size
        };
        after(60_000, 8, 8).wait_by(1, comes, || Duration::ZERO);
        assert_eq!(size, 16);
    }

    #[test]
    fn waiting_ends_when_patience_does() {
        let mut passed = Duration::ZERO;
        let look_up = || {
            passed += LOOK_EVERY;
            passed
        };
        after(60_000, 8, 8).wait_by(1, || 1, look_up);
        assert_eq!(passed, WAIT_MAX);
    }
}
