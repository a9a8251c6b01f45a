//! Where the node stands among those that share the store.

use std::time::Duration;

use punctual_store::{NodeReport, Standing};

use super::Machine;

impl Machine {
    /// Where the node stands has changed. With the lease, all that was claimed under it is somebody else's: what
    /// was not begun is given back, what is under way is cut off, and what has ended is still offered.
    pub(crate) fn set_standing(&mut self, standing: Standing, uptime: Duration) {
        if standing == self.standing {
            return;
        }
        let lost = standing.lease != self.standing.lease;
        self.standing = standing;
        // The cap of a target is divided among those that fire.
        let nodes = usize::try_from(standing.firing_count).unwrap_or(1).max(1);
        for held in self.slots.set_per_target(self.settings.slots_per_target / nodes) {
            self.go(held);
        }
        if lost || !standing.may_fire {
            self.give_back_unbegun();
        }
        if lost {
            self.cut_off = true;
            self.wakes.launcher = true;
        }
        self.claim_at_once(uptime);
    }

    /// Whether what is under way is to be cut off; asked once.
    pub(crate) fn take_cut_off(&mut self) -> bool {
        std::mem::take(&mut self.cut_off)
    }

    /// Gives back all that was not begun.
    pub(super) fn give_back_unbegun(&mut self) {
        self.waiting.clear();
        self.beginning.clear();
        drop(self.slots.drain_parked());
        self.wakes.claimer = true;
    }

    /// How the node does.
    pub(crate) fn report(&self) -> NodeReport {
        let count = |count| u32::try_from(count).unwrap_or(u32::MAX);
        NodeReport {
            fires: !self.stopping,
            held: count(self.slots.taken()),
            in_flight: count(self.slots.under_way()),
        }
    }
}
