//! How far the clock of this node is ahead of the database's.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::SignedDuration;

/// How many measurements are kept.
const KEPT: usize = 8;

/// The last measurements.
#[derive(Debug, Default)]
pub(crate) struct ClockOffset(VecDeque<Measurement>);

#[derive(Clone, Copy, Debug)]
struct Measurement {
    round_trip: SignedDuration,
    ahead: SignedDuration,
}

impl ClockOffset {
    /// Adds a measurement: how far this clock was ahead in the middle of the round trip.
    pub(crate) fn add(&mut self, round_trip: Duration, ahead: SignedDuration) {
        let round_trip = SignedDuration::try_from(round_trip).unwrap_or(SignedDuration::MAX);
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(Measurement { round_trip, ahead });
    }

    /// Forgets what was measured: the clock may have been set.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// How far this clock is ahead, by the quickest of the last measurements.
    pub(crate) fn lead(&self) -> SignedDuration {
        self.best().map_or(SignedDuration::ZERO, |best| best.ahead)
    }

    /// Whether it is off by more than is allowed, whatever the time that an answer took to come.
    pub(crate) fn exceeds(&self, allowance: Duration) -> bool {
        let allowance = SignedDuration::try_from(allowance).unwrap_or(SignedDuration::MAX);
        self.best().is_some_and(|best| best.ahead.abs().saturating_sub(best.round_trip / 2) > allowance)
    }

    fn best(&self) -> Option<Measurement> {
        self.0.iter().copied().min_by_key(|one| one.round_trip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quickest_of_the_last_measurements_counts() {
        let mut offset = ClockOffset::default();
        let ms = SignedDuration::from_millis;
        assert_eq!((offset.lead(), offset.exceeds(Duration::ZERO)), (SignedDuration::ZERO, false));
        offset.add(Duration::from_millis(900), ms(500));
        assert!(!offset.exceeds(Duration::from_millis(250)), "it may be the way that took so long");
        offset.add(Duration::from_millis(2), ms(-300));
        assert!(offset.exceeds(Duration::from_millis(250)));
        assert_eq!(offset.lead(), ms(-300));
        for _ in 0..KEPT {
            offset.add(Duration::from_millis(4), ms(7));
        }
        assert_eq!((offset.lead(), offset.exceeds(Duration::from_millis(250))), (ms(7), false));
        offset.clear();
        assert_eq!(offset.lead(), SignedDuration::ZERO);
    }
}
