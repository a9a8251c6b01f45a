//! How far the agenda was claimed, so that what is claimed already is not walked again and again.
//!
//! Everything due before the frontier was claimed, or belongs to the share of others. Before a second one entries of full
//! targets were left: it counts while those targets are full. Both go back to the start once a second,
//! because other nodes write, too, and where something is written here that is due before them.

use std::collections::HashSet;
use std::time::Duration;

/// A position in the agenda: due time and job.
pub(crate) type Cursor = (i64, i64);

/// Before everything.
pub(crate) const START: Cursor = (i64::MIN, i64::MIN);

/// How often the agenda is walked from its start.
const PERIOD: Duration = Duration::from_secs(1);

/// How far the agenda was claimed.
#[derive(Debug)]
pub(crate) struct Frontier {
    clear: Cursor,
    /// How far it is claimed but for entries of full targets, and which those are.
    passed: Cursor,
    passed_targets: HashSet<i64>,
    /// The earliest that was written while claims were under way.
    moved: Cursor,
    started: Duration,
}

/// A claim from a frontier.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) from: Cursor,
}

impl Frontier {
    pub(crate) fn new() -> Self {
        Self {
            clear: START,
            passed: START,
            passed_targets: HashSet::new(),
            moved: (i64::MAX, i64::MAX),
            started: Duration::ZERO,
        }
    }

    /// Begins a claim that leaves out these targets; `uptime` is any clock that never goes back.
    pub(crate) fn begin(&mut self, full_targets: &[i64], uptime: Duration) -> Walk {
        if uptime.saturating_sub(self.started) >= PERIOD {
            self.started = uptime;
            self.reset();
        }
        self.moved = (i64::MAX, i64::MAX);
        Walk { from: self.from(full_targets) }
    }

    /// Where to begin if these targets are left out.
    pub(crate) fn from(&self, full_targets: &[i64]) -> Cursor {
        let still_full = self.passed_targets.iter().all(|target| full_targets.contains(target));
        if still_full { self.passed.max(self.clear) } else { self.clear }
    }

    /// A claim has come as far as this. What was written meanwhile may be due before.
    pub(crate) fn advance(&mut self, walk: &Walk, full_targets: &[i64], to: Cursor) {
        let to = to.min(before(self.moved));
        if full_targets.is_empty() {
            self.clear = self.clear.max(to);
            self.passed = self.clear;
            self.passed_targets.clear();
            return;
        }
        if walk.from < self.passed {
            // It went over the same entries again; others may have been full then.
            self.passed_targets.clear();
        }
        self.passed = to;
        self.passed_targets.extend(full_targets);
    }

    /// An entry was written that is due then.
    pub(crate) fn wrote(&mut self, cursor: Cursor) {
        self.moved = self.moved.min(cursor);
        self.clear = self.clear.min(before(cursor));
        self.passed = self.passed.min(before(cursor));
    }

    /// Begins at the start again.
    pub(crate) fn reset(&mut self) {
        self.wrote(START);
        self.passed_targets.clear();
    }
}

/// The position before an entry.
fn before((due_at, job): Cursor) -> Cursor {
    (due_at, job.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_millis(10);

    fn walked(frontier: &mut Frontier, full: &[i64], to: Cursor) -> Cursor {
        let walk = frontier.begin(full, NOW);
        frontier.advance(&walk, full, to);
        walk.from
    }

    #[test]
    fn what_was_claimed_is_not_walked_again() {
        let mut frontier = Frontier::new();
        assert_eq!(walked(&mut frontier, &[], (5, 1)), START);
        assert_eq!(walked(&mut frontier, &[], (9, 1)), (5, 1));
        frontier.wrote((7, 3));
        assert_eq!(walked(&mut frontier, &[], (9, 1)), (7, 2), "what is written before it is found");
        frontier.wrote((70, 3));
        assert_eq!(walked(&mut frontier, &[], (9, 9)), (9, 1));
        assert_eq!(frontier.begin(&[], PERIOD).from, START, "once a second it begins anew");
    }

    #[test]
    fn what_is_written_while_a_claim_is_under_way_is_found() {
        let mut frontier = Frontier::new();
        let walk = frontier.begin(&[], NOW);
        frontier.wrote((3, 8));
        frontier.advance(&walk, &[], (9, 1));
        assert_eq!(frontier.begin(&[], NOW).from, (3, 7));
    }

    #[test]
    fn what_was_left_is_found_when_its_target_is_free() {
        let mut frontier = Frontier::new();
        walked(&mut frontier, &[], (5, 1));
        assert_eq!(walked(&mut frontier, &[1], (9, 1)), (5, 1));
        assert_eq!(walked(&mut frontier, &[1, 2], (11, 1)), (9, 1), "one that is full as well");
        assert_eq!(frontier.begin(&[1], NOW).from, (5, 1), "the other is free");
        assert_eq!(frontier.begin(&[2, 1], NOW).from, (11, 1));
        assert_eq!(walked(&mut frontier, &[], (20, 1)), (5, 1));
        assert_eq!(frontier.begin(&[], NOW).from, (20, 1));
    }
}
