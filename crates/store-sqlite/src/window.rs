//! The look-ahead window: unclaimed entries that are due soon, in memory.
//!
//! The agenda is read in the order of due times, and everything up to the frontier is either in here or
//! claimed. So a claim never reads claimed entries twice, and the entries of a target without a free slot cost
//! one look at the head of that target's queue instead of a walk over all of them. Entries beyond the frontier
//! need no memory.

use std::collections::{BTreeSet, HashMap, HashSet};

/// An entry: when it is due, its job and its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WindowEntry {
    pub(crate) due_at: i64,
    pub(crate) job: i64,
    pub(crate) target: i64,
}

#[derive(Debug)]
pub(crate) struct Window {
    /// The last entry that was read.
    frontier: (i64, i64),
    queues: HashMap<i64, BTreeSet<(i64, i64)>>,
    /// The first entry of each queue.
    heads: BTreeSet<WindowEntry>,
}

impl Window {
    pub(crate) fn new() -> Self {
        Self { frontier: (i64::MIN, i64::MIN), queues: HashMap::new(), heads: BTreeSet::new() }
    }

    /// Where to read on.
    pub(crate) fn frontier(&self) -> (i64, i64) {
        self.frontier
    }

    /// Everything up to here was read and, if it was free, inserted.
    pub(crate) fn advance(&mut self, due_at: i64, job: i64) {
        self.frontier = self.frontier.max((due_at, job));
    }

    /// Empties the window; the agenda is read from its start again.
    pub(crate) fn reset(&mut self) {
        *self = Self::new();
    }

    /// Adds an entry that was written or given back. Beyond the frontier it will be read in time.
    pub(crate) fn offer(&mut self, due: WindowEntry) {
        if (due.due_at, due.job) <= self.frontier {
            self.insert(due);
        }
    }

    /// Adds an entry that was read.
    pub(crate) fn insert(&mut self, due: WindowEntry) {
        let queue = self.queues.entry(due.target).or_default();
        let head = queue.first().copied();
        queue.insert((due.due_at, due.job));
        self.set_head(due.target, head);
    }

    pub(crate) fn remove(&mut self, due: WindowEntry) {
        let Some(queue) = self.queues.get_mut(&due.target) else { return };
        let head = queue.first().copied();
        if queue.remove(&(due.due_at, due.job)) {
            self.set_head(due.target, head);
        }
    }

    /// The earliest entry whose target has a free slot.
    pub(crate) fn earliest(&self, full_targets: &HashSet<i64>) -> Option<WindowEntry> {
        self.heads.iter().find(|head| !full_targets.contains(&head.target)).copied()
    }

    /// Updates the head of a queue.
    fn set_head(&mut self, target: i64, old: Option<(i64, i64)>) {
        let new = self.queues.get(&target).and_then(|queue| queue.first().copied());
        if old == new {
            return;
        }
        if let Some((due_at, job)) = old {
            self.heads.remove(&WindowEntry { due_at, job, target });
        }
        match new {
            Some((due_at, job)) => {
                self.heads.insert(WindowEntry { due_at, job, target });
            }
            None => {
                self.queues.remove(&target);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(due_at: i64, job: i64, target: i64) -> WindowEntry {
        WindowEntry { due_at, job, target }
    }

    #[test]
    fn the_earliest_entry_of_a_target_with_free_slots_comes_first() {
        let mut window = Window::new();
        for one in [due(3, 1, 7), due(1, 2, 8), due(2, 3, 8), due(4, 4, 9)] {
            window.insert(one);
        }
        let earliest = |window: &Window, passed: &[i64]| {
            window.earliest(&passed.iter().copied().collect()).map(|due| due.job)
        };
        assert_eq!(earliest(&window, &[]), Some(2));
        assert_eq!(earliest(&window, &[8]), Some(1));
        assert_eq!(earliest(&window, &[7, 8, 9]), None);
        window.remove(due(1, 2, 8));
        assert_eq!(earliest(&window, &[]), Some(3));
        window.remove(due(2, 3, 8));
        window.remove(due(2, 3, 8));
        assert_eq!(earliest(&window, &[]), Some(1));
        window.insert(due(0, 5, 7));
        assert_eq!(earliest(&window, &[]), Some(5));
    }

    #[test]
    fn what_lies_beyond_the_frontier_is_not_held() {
        let mut window = Window::new();
        window.offer(due(1, 1, 1));
        assert_eq!(window.earliest(&HashSet::new()), None);
        window.advance(5, 3);
        window.offer(due(5, 3, 1));
        window.offer(due(5, 4, 1));
        assert_eq!(window.earliest(&HashSet::new()), Some(due(5, 3, 1)));
        window.reset();
        assert_eq!(window.earliest(&HashSet::new()), None);
        assert_eq!(window.frontier(), (i64::MIN, i64::MIN));
    }
}
