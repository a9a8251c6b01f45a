//! Who may go: how many claims are held in all, and how many attempts are under way to each target.
//!
//! A claim that is due while its target has all it may have is parked: it keeps its place behind the
//! others of that target, and goes when one of them ends. Too many parked ones are refused, so that the
//! claimer gives them back and passes the target over.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use punctual_store::{Claim, Fence};
use tokio::sync::Notify;
use tokio::time::Instant;

/// How many claims may wait for one target before it is passed over.
const PARKED_BEFORE_PASSED_OVER: usize = 512;

/// A target of which no attempt has ended for so long hangs, as far as slots are concerned.
const HANGS_AFTER: Duration = Duration::from_secs(1);

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

struct Target {
    under_way: usize,
    parked: VecDeque<Claim>,
    /// When an attempt of it ended last; at first, when it was first called.
    ended_at: Instant,
}

impl Target {
    fn new() -> Self {
        Self { under_way: 0, parked: VecDeque::new(), ended_at: Instant::now() }
    }

    /// Nothing comes back from it.
    fn hangs(&self) -> bool {
        self.ended_at.elapsed() >= HANGS_AFTER
    }
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
            None => state.targets.entry(Arc::clone(&claim.target)).or_insert_with(Target::new),
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
        let next = state.targets.get_mut(name).and_then(|target| {
            target.ended_at = Instant::now();
            target.parked.pop_front()
        });
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
        let busy = |target: &Target| {
            let most = if target.hangs() { most.min(self.kept()) } else { most };
            target.under_way >= self.per_target_max && target.parked.len() >= most
        };
        state.targets.iter().filter(|(_, target)| busy(target)).map(|(name, _)| name.to_string()).collect()
    }

    /// How many may wait for one target; where there are few slots, fewer, so that they don't take them all.
    fn parked_max(&self) -> usize {
        PARKED_BEFORE_PASSED_OVER.min(self.slots_max / 8)
    }

    /// How many of those that wait for a target are left to it when others need the room.
    fn kept(&self) -> usize {
        self.per_target_max.min(self.parked_max())
    }

    /// Where slots run out, takes back what waits for targets that have many waiting: their claims are better
    /// given back than kept from others. From targets that hang as soon as there is no room to claim ahead;
    /// from others not before hardly a slot is left, since giving back and claiming anew costs more than
    /// waiting.
    pub(crate) fn crowd_out(&self) -> Vec<Claim> {
        let mut state = self.state();
        let (full, tight) = (state.taken * 8 >= self.slots_max * 7, state.taken * 8 >= self.slots_max * 5);
        if !tight {
            return Vec::new();
        }
        let keep = self.kept();
        let crowded = state
            .targets
            .values_mut()
            .filter(|target| target.parked.len() > keep && (full || target.hangs()));
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
