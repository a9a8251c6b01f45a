//! What a node has seen of the beats of others, and whose stands still.
//!
//! The time is that of the observer alone, from the arrival of the first answer that showed a beat. After a gap in which
//! it could not look, all observations begin anew: a database that was away makes nobody look dead.

use std::collections::HashMap;
use std::time::Duration;

/// Longer than this between two looks, and nothing follows from what was seen before.
const GAP_MAX: Duration = Duration::from_secs(2);

/// The beats of others, and since when each has been the same.
#[derive(Debug, Default)]
pub(crate) struct Observation {
    seen: HashMap<i64, (i64, Duration)>,
    looked_at: Option<Duration>,
}

impl Observation {
    /// Takes a look: leases with their beats, seen at this time. Returns those that have stood still for as long as
    /// `takeover`, with the beat that stood still.
    pub(crate) fn look(
        &mut self,
        now: Duration,
        beats: &[(i64, i64)],
        takeover: Duration,
    ) -> Vec<(i64, i64)> {
        if self.looked_at.is_none_or(|before| now.saturating_sub(before) > GAP_MAX) {
            self.seen.clear();
        }
        self.looked_at = Some(now);
        let before = std::mem::take(&mut self.seen);
        let mut still = Vec::new();
        for &(lease, beat) in beats {
            let since = match before.get(&lease) {
                Some((known, since)) if *known == beat => *since,
                _ => now,
            };
            if now.saturating_sub(since) >= takeover {
                still.push((lease, beat));
            }
            self.seen.insert(lease, (beat, since));
        }
        still
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(observation: &mut Observation, second: u64, beats: &[(i64, i64)]) -> Vec<(i64, i64)> {
        observation.look(Duration::from_secs(second), beats, Duration::from_secs(4))
    }

    #[test]
    fn a_beat_that_stands_still_long_enough_is_told() {
        let mut observation = Observation::default();
        for second in 0..4 {
            assert_eq!(look(&mut observation, second, &[(1, 7), (2, 9)]), []);
        }
        assert_eq!(look(&mut observation, 4, &[(1, 8), (2, 9)]), [(2, 9)]);
        for second in 5..8 {
            assert_eq!(look(&mut observation, second, &[(1, 8)]), []);
        }
        assert_eq!(look(&mut observation, 8, &[(1, 8)]), [(1, 8)]);
    }

    #[test]
    fn after_a_gap_everything_begins_anew() {
        let mut observation = Observation::default();
        look(&mut observation, 0, &[(1, 7)]);
        look(&mut observation, 2, &[(1, 7)]);
        assert_eq!(look(&mut observation, 5, &[(1, 7)]), [], "nobody knows what happened meanwhile");
        look(&mut observation, 7, &[(1, 7)]);
        assert_eq!(look(&mut observation, 9, &[(1, 7)]), [(1, 7)]);
    }
}
