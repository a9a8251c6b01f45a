//! Slots: how many claims are held in total, and how many attempts are in flight at each target.
//!
//! A claim that is due while its target has no free slot is parked: it queues behind the others of that target,
//! and goes when one of them ends. If too many are parked, the claimer gives them back and leaves the target
//! out.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use punctual_store::Fence;

use crate::hold::Held;

/// How many claims may be parked for one target before it is left out.
const PARKED_MAX: usize = 512;

/// A target of which no attempt has ended for this long counts as hanging.
const HANGS_AFTER: Duration = Duration::from_secs(1);

/// Counts slots. Times are uptimes of the runner.
pub(crate) struct Slots {
    taken: usize,
    under_way: usize,
    targets: HashMap<Arc<str>, Target>,
    slots_max: usize,
    per_target_max: usize,
}

struct Target {
    under_way: usize,
    parked: VecDeque<Held>,
    /// When an attempt of it last ended; at first, when it was first called.
    ended_at: Duration,
}

impl Target {
    /// Whether no attempt of it ends.
    fn hangs(&self, uptime: Duration) -> bool {
        uptime.saturating_sub(self.ended_at) >= HANGS_AFTER
    }
}

impl Slots {
    pub(crate) fn new(slots_max: usize, per_target_max: usize) -> Self {
        let per_target_max = per_target_max.max(1);
        Self { taken: 0, under_way: 0, targets: HashMap::new(), slots_max, per_target_max }
    }

    /// How many more claims may be held.
    pub(crate) fn free(&self) -> usize {
        self.slots_max.saturating_sub(self.taken)
    }

    /// How many claims are held.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    /// Sets how many attempts may be under way to one target; comes back with those that may go because of it.
    pub(crate) fn set_per_target(&mut self, most: usize) -> Vec<Held> {
        self.per_target_max = most.max(1);
        let mut going = Vec::new();
        for target in self.targets.values_mut() {
            while target.under_way < self.per_target_max
                && let Some(mut next) = target.parked.pop_front()
            {
                target.under_way += 1;
                self.under_way += 1;
                next.hold.go();
                going.push(next);
            }
        }
        going
    }

    /// Counts new claims.
    pub(crate) fn take(&mut self, count: usize) {
        self.taken += count;
    }

    /// A claim has ended.
    pub(crate) fn free_one(&mut self) {
        self.taken = self.taken.saturating_sub(1);
    }

    /// Returns a due claim if its target has a free slot; otherwise parks it.
    pub(crate) fn turn(&mut self, mut held: Held, uptime: Duration) -> Option<Held> {
        let target = match self.targets.get_mut(held.hold.target()) {
            Some(target) => target,
            None => self.targets.entry(Arc::clone(held.hold.target())).or_insert_with(|| Target {
                under_way: 0,
                parked: VecDeque::new(),
                ended_at: uptime,
            }),
        };
        if target.under_way < self.per_target_max {
            target.under_way += 1;
            self.under_way += 1;
            held.hold.go();
            return Some(held);
        }
        target.parked.push_back(held);
        None
    }

    /// An attempt has ended: returns the next claim parked for the same target, which may go instead.
    pub(crate) fn leave(&mut self, name: &str, uptime: Duration) -> Option<Held> {
        let target = self.targets.get_mut(name)?;
        target.ended_at = uptime;
        if target.under_way <= self.per_target_max
            && let Some(mut next) = target.parked.pop_front()
        {
            next.hold.go();
            return Some(next);
        }
        self.under_way = self.under_way.saturating_sub(1);
        target.under_way = target.under_way.saturating_sub(1);
        if target.under_way == 0 {
            self.targets.remove(name);
        }
        None
    }

    /// Targets without a free slot that have enough parked claims. If slots are scarce, one is enough.
    pub(crate) fn full_targets(&self, uptime: Duration) -> Vec<String> {
        let scarce = self.taken * 2 > self.slots_max;
        let most = if scarce { self.parked_max().min(1) } else { self.parked_max() };
        let busy = |target: &Target| {
            let most = if target.hangs(uptime) { most.min(self.kept()) } else { most };
            target.under_way >= self.per_target_max && target.parked.len() >= most
        };
        self.targets.iter().filter(|(_, target)| busy(target)).map(|(name, _)| name.to_string()).collect()
    }

    /// How many claims may be parked for one target; with few slots fewer, so that they don't take them all.
    fn parked_max(&self) -> usize {
        PARKED_MAX.min(self.slots_max / 8)
    }

    /// How many parked claims a target keeps when others need slots.
    fn kept(&self) -> usize {
        self.per_target_max.min(self.parked_max())
    }

    /// If slots run out, takes back parked claims of targets that have many: it is better to give them back
    /// than to block others. From hanging targets as soon as there is no slot to claim ahead; from others only
    /// when hardly a slot is left, since giving back and claiming again costs more than waiting.
    pub(crate) fn take_excess(&mut self, uptime: Duration) -> Vec<Held> {
        let (full, tight) = (self.taken * 8 >= self.slots_max * 7, self.taken * 8 >= self.slots_max * 5);
        if !tight {
            return Vec::new();
        }
        let keep = self.kept();
        let excess = self
            .targets
            .values_mut()
            .filter(|target| target.parked.len() > keep && (full || target.hangs(uptime)));
        excess.flat_map(|target| target.parked.split_off(keep)).collect()
    }

    /// All parked claims.
    pub(crate) fn parked(&self) -> HashSet<Fence> {
        self.targets.values().flat_map(|target| &target.parked).map(|held| held.hold.fence).collect()
    }

    /// Takes all parked claims, for a stop.
    pub(crate) fn drain_parked(&mut self) -> Vec<Held> {
        self.targets.values_mut().flat_map(|target| target.parked.drain(..)).collect()
    }

    /// How many attempts are in flight, or about to be.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way
    }
}
