//! Slots: how many claims are held in total, and how many attempts are in flight at each target and of each collection.
//!
//! A claim that is due while its target has no free slot is parked: it queues behind the others of that target,
//! and goes when one of them ends. If too many are parked, the claimer gives them back and leaves the target
//! out. A claim whose collection has no free slot queues behind the others of that: a collection with many targets that
//! hang can't take what others need.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use punctual_model::CollectionKey;
use punctual_store::Fence;

use crate::hold::{Held, Hold};

/// How many claims may be parked for one target before it is left out.
const PARKED_MAX: usize = 512;

/// A target of which no attempt has ended for this long counts as hanging.
const HANGS_AFTER: Duration = Duration::from_secs(1);

/// Counts slots. Times are uptimes of the runner.
pub(crate) struct Slots {
    taken: usize,
    under_way: usize,
    targets: HashMap<Arc<str>, Target>,
    collections: HashMap<Arc<CollectionKey>, Collection>,
    /// How many claims are parked behind others of their collection.
    parked_in_collections: usize,
    slots_max: usize,
    caps: Caps,
}

/// The most attempts that may be under way: to one target, and of the jobs of one collection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caps {
    pub(crate) per_target: usize,
    pub(crate) per_collection: usize,
}

impl Caps {
    /// The share of one node.
    pub(crate) fn divided(self, nodes: usize) -> Self {
        Self { per_target: self.per_target / nodes, per_collection: self.per_collection / nodes }
            .at_least_one()
    }

    fn at_least_one(self) -> Self {
        Self { per_target: self.per_target.max(1), per_collection: self.per_collection.max(1) }
    }
}

struct Target {
    under_way: usize,
    parked: VecDeque<Held>,
    /// When an attempt of it last ended; at first, when it was first called.
    ended_at: Duration,
}

#[derive(Default)]
struct Collection {
    under_way: usize,
    /// Claims whose target had a free slot when they came here.
    parked: VecDeque<Held>,
}

impl Target {
    fn new(uptime: Duration) -> Self {
        Self { under_way: 0, parked: VecDeque::new(), ended_at: uptime }
    }

    fn is_idle(&self) -> bool {
        self.under_way == 0 && self.parked.is_empty()
    }

    /// Whether no attempt of it ends.
    fn hangs(&self, uptime: Duration) -> bool {
        uptime.saturating_sub(self.ended_at) >= HANGS_AFTER
    }
}

impl Collection {
    fn is_idle(&self) -> bool {
        self.under_way == 0 && self.parked.is_empty()
    }
}

impl Slots {
    pub(crate) fn new(slots_max: usize, caps: Caps) -> Self {
        Self {
            taken: 0,
            under_way: 0,
            targets: HashMap::new(),
            collections: HashMap::new(),
            parked_in_collections: 0,
            slots_max,
            caps: caps.at_least_one(),
        }
    }

    /// How many more claims may be held.
    pub(crate) fn free(&self) -> usize {
        self.slots_max.saturating_sub(self.used())
    }

    /// How many claims are held.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    /// How many slots are used. The store can't leave out the entries of a collection, so claims that wait for their
    /// collection use none, or they would take them all from others; but no more of them than there are slots.
    fn used(&self) -> usize {
        self.taken.saturating_sub(self.parked_in_collections.min(self.slots_max))
    }

    /// Sets the caps; comes back with those that may go because of it.
    pub(crate) fn set_caps(&mut self, caps: Caps, uptime: Duration) -> Vec<Held> {
        self.caps = caps.at_least_one();
        let mut going = Vec::new();
        // In a fixed order, so that the same calls do the same.
        let mut targets: Vec<_> = self.targets.keys().cloned().collect();
        targets.sort();
        for name in targets {
            self.next_of_target(&name, uptime, &mut going);
        }
        let mut collections: Vec<_> = self.collections.keys().cloned().collect();
        collections.sort();
        for key in collections {
            self.next_of_collection(&key, uptime, &mut going);
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

    /// Returns a due claim if its target and its collection have a free slot; otherwise parks it.
    pub(crate) fn turn(&mut self, mut held: Held, uptime: Duration) -> Option<Held> {
        let Caps { per_target, per_collection } = self.caps;
        let target = match self.targets.get_mut(held.hold.target()) {
            Some(target) => target,
            None => self.targets.entry(Arc::clone(held.hold.target())).or_insert_with(|| Target::new(uptime)),
        };
        if target.under_way >= per_target {
            target.parked.push_back(held);
            return None;
        }
        let collection = match self.collections.get_mut(held.hold.collection()) {
            Some(collection) => collection,
            None => self.collections.entry(Arc::clone(held.hold.collection())).or_default(),
        };
        if collection.under_way >= per_collection {
            if target.is_idle() {
                self.targets.remove(held.hold.target());
            }
            collection.parked.push_back(held);
            self.parked_in_collections += 1;
            return None;
        }
        target.under_way += 1;
        collection.under_way += 1;
        self.under_way += 1;
        held.hold.go();
        Some(held)
    }

    /// An attempt has ended: returns the claims that may go because of it. One was parked for the same target, and comes
    /// first; another for the same collection.
    pub(crate) fn leave(&mut self, hold: &Hold, uptime: Duration) -> Vec<Held> {
        self.leave_by(&Arc::clone(hold.target()), &Arc::clone(hold.collection()), uptime)
    }

    /// The same by the names of both.
    pub(crate) fn leave_by(
        &mut self,
        target: &Arc<str>,
        collection: &Arc<CollectionKey>,
        uptime: Duration,
    ) -> Vec<Held> {
        self.under_way = self.under_way.saturating_sub(1);
        if let Some(target) = self.targets.get_mut(target) {
            target.ended_at = uptime;
            target.under_way = target.under_way.saturating_sub(1);
        }
        if let Some(collection) = self.collections.get_mut(collection) {
            collection.under_way = collection.under_way.saturating_sub(1);
        }
        let mut going = Vec::new();
        self.next_of_target(target, uptime, &mut going);
        self.next_of_collection(collection, uptime, &mut going);
        if self.targets.get(target).is_some_and(Target::is_idle) {
            self.targets.remove(target);
        }
        if self.collections.get(collection).is_some_and(Collection::is_idle) {
            self.collections.remove(collection);
        }
        going
    }

    /// Lets claims go that are parked for a target, as long as it has a free slot. Those whose collection has none queue
    /// there from now on. So a claim is parked only where no slot is free, and the end of an attempt there finds it.
    fn next_of_target(&mut self, name: &Arc<str>, uptime: Duration, going: &mut Vec<Held>) {
        while let Some(target) = self.targets.get_mut(name)
            && target.under_way < self.caps.per_target
            && let Some(next) = target.parked.pop_front()
        {
            going.extend(self.turn(next, uptime));
        }
    }

    /// The same for a collection: those whose target has no free slot queue there.
    fn next_of_collection(&mut self, key: &Arc<CollectionKey>, uptime: Duration, going: &mut Vec<Held>) {
        while let Some(collection) = self.collections.get_mut(key)
            && collection.under_way < self.caps.per_collection
            && let Some(next) = collection.parked.pop_front()
        {
            self.parked_in_collections -= 1;
            going.extend(self.turn(next, uptime));
        }
    }

    /// Targets without a free slot that have enough parked claims. If slots are scarce, one is enough.
    pub(crate) fn full_targets(&self, uptime: Duration) -> Vec<String> {
        let scarce = self.used() * 2 > self.slots_max;
        let most = if scarce { self.parked_max().min(1) } else { self.parked_max() };
        let busy = |target: &Target| {
            let most = if target.hangs(uptime) { most.min(self.kept()) } else { most };
            target.under_way >= self.caps.per_target && target.parked.len() >= most
        };
        self.targets.iter().filter(|(_, target)| busy(target)).map(|(name, _)| name.to_string()).collect()
    }

    /// How many claims may be parked for one target; with few slots fewer, so that they don't take them all.
    fn parked_max(&self) -> usize {
        PARKED_MAX.min(self.slots_max / 8)
    }

    /// How many parked claims a target keeps when others need slots.
    fn kept(&self) -> usize {
        self.caps.per_target.min(self.parked_max())
    }

    /// If slots run out, takes back parked claims of targets that have many: it is better to give them back
    /// than to block others. From hanging targets as soon as there is no slot to claim ahead; from others only
    /// when hardly a slot is left, since giving back and claiming again costs more than waiting.
    pub(crate) fn take_excess(&mut self, uptime: Duration) -> Vec<Held> {
        let used = self.used();
        let (full, tight) = (used * 8 >= self.slots_max * 7, used * 8 >= self.slots_max * 5);
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
        self.parked_claims().map(|held| held.hold.fence).collect()
    }

    pub(crate) fn parked_claims(&self) -> impl Iterator<Item = &Held> {
        let of_targets = self.targets.values().flat_map(|target| &target.parked);
        let of_collections = self.collections.values().flat_map(|collection| &collection.parked);
        of_targets.chain(of_collections)
    }

    /// Takes all parked claims, for a stop.
    pub(crate) fn drain_parked(&mut self) -> Vec<Held> {
        self.parked_in_collections = 0;
        let of_targets = self.targets.values_mut().flat_map(|target| target.parked.drain(..));
        let of_collections = self.collections.values_mut().flat_map(|collection| collection.parked.drain(..));
        of_targets.chain(of_collections).collect()
    }

    /// How many attempts are in flight, or about to be.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way
    }
}
