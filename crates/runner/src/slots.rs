//! Who may go: how many claims are held in all, and how many attempts are under way to each target.
//!
//! A claim that is due while its target has all it may have is parked: it keeps its place behind the
//! others of that target, and goes when one of them ends. Too many parked ones are refused, so that the
//! claimer gives them back and passes the target over.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punctual_store::{Claim, Fence};
use tokio::sync::Notify;

/// How many claims may wait for one target before it is passed over.
const PARKED_BEFORE_PASSED_OVER: usize = 512;

/// The bookkeeping of slots.
pub(crate) struct Slots {
    state: Mutex<State>,
    freed: Notify,
    slots_max: usize,
    per_target_max: usize,
}

struct State {
    taken: usize,
    under_way: usize,
    targets: HashMap<Arc<str>, Target>,
}

#[derive(Default)]
struct Target {
    under_way: usize,
    parked: VecDeque<Claim>,
}

impl Slots {
    pub(crate) fn new(slots_max: usize, per_target_max: usize) -> Self {
        let state = State { taken: 0, under_way: 0, targets: HashMap::new() };
        Self {
            state: Mutex::new(state),
            freed: Notify::new(),
            slots_max,
            per_target_max: per_target_max.max(1),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many more claims may be held.
    pub(crate) fn free(&self) -> usize {
        self.slots_max.saturating_sub(self.state().taken)
    }

    /// Counts claims that were made.
    pub(crate) fn take(&self, count: usize) {
        self.state().taken += count;
    }

    /// Lets a due claim go: it comes back. Or parks it behind others of its target.
    pub(crate) fn turn(&self, claim: Claim) -> Option<Claim> {
        let mut state = self.state();
        let target = match state.targets.get_mut(&claim.target) {
            Some(target) => target,
            None => state.targets.entry(Arc::clone(&claim.target)).or_default(),
        };
        if target.under_way < self.per_target_max {
            target.under_way += 1;
            state.under_way += 1;
            return Some(claim);
        }
        target.parked.push_back(claim);
        None
    }

    /// An attempt has ended: its slot is free, and the next one parked for the same target may go in its
    /// place.
    pub(crate) fn end(&self, name: &str) -> Option<Claim> {
        let mut state = self.state();
        state.taken = state.taken.saturating_sub(1);
        let next = state.targets.get_mut(name).and_then(|target| target.parked.pop_front());
        if next.is_none() {
            state.under_way = state.under_way.saturating_sub(1);
            let idle = state.targets.get_mut(name).is_none_or(|target| {
                target.under_way = target.under_way.saturating_sub(1);
                target.under_way == 0
            });
            if idle {
                state.targets.remove(name);
            }
        }
        drop(state);
        self.freed.notify_one();
        next
    }

    /// Targets that could not go now and have enough waiting already. Where slots are scarce, any is enough.
    pub(crate) fn passed_over(&self) -> Vec<String> {
        let state = self.state();
        let scarce = state.taken * 2 > self.slots_max;
        let most = if scarce { self.parked_max().min(1) } else { self.parked_max() };
        let busy = |target: &Target| target.under_way >= self.per_target_max && target.parked.len() >= most;
        state.targets.iter().filter(|(_, target)| busy(target)).map(|(name, _)| name.to_string()).collect()
    }

    /// How many may wait for one target; where there are few slots, fewer, so that they don't take them all.
    fn parked_max(&self) -> usize {
        PARKED_BEFORE_PASSED_OVER.min(self.slots_max / 8)
    }

    /// Where hardly a slot is left, takes back what waits for targets that have many waiting: their claims are
    /// better given back than kept from others. Not before, since giving back and claiming anew costs more
    /// than waiting.
    pub(crate) fn crowd_out(&self) -> Vec<Claim> {
        let mut state = self.state();
        if state.taken * 8 < self.slots_max * 7 {
            return Vec::new();
        }
        let keep = self.per_target_max.min(self.parked_max());
        let crowded = state.targets.values_mut().filter(|target| target.parked.len() > keep);
        let out: Vec<Claim> = crowded.flat_map(|target| target.parked.split_off(keep)).collect();
        state.taken = state.taken.saturating_sub(out.len());
        out
    }

    /// All claims that are parked.
    pub(crate) fn parked(&self) -> HashSet<Fence> {
        let state = self.state();
        state.targets.values().flat_map(|target| &target.parked).map(|claim| claim.fence).collect()
    }

    /// Takes everything that is parked, for a stop.
    pub(crate) fn drain_parked(&self) -> Vec<Claim> {
        let mut state = self.state();
        let parked: Vec<Claim> =
            state.targets.values_mut().flat_map(|target| target.parked.drain(..)).collect();
        state.taken = state.taken.saturating_sub(parked.len());
        parked
    }

    /// How many attempts are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.state().under_way
    }

    /// Waits until a slot was freed since the last call.
    pub(crate) async fn freed(&self) {
        self.freed.notified().await;
    }
}
