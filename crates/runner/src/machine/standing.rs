//! Where the node stands among those that share the store.

use std::time::Duration;

use punctual_store::{NodeReport, NodeStanding};

use super::Machine;

impl Machine {
    /// The standing of the node has changed. If its lease has ended, its claims belong to others: those not
    /// begun are given back, attempts in flight are aborted, and finished ones are still offered to the store.
    pub(crate) fn set_standing(&mut self, standing: NodeStanding, uptime: Duration) {
        if standing == self.standing {
            return;
        }
        let lost = standing.lease != self.standing.lease;
        self.standing = standing;
        // The slots of a target and of a collection are divided among the nodes that fire.
        let nodes = usize::try_from(standing.firing_count).unwrap_or(1).max(1);
        let going = self.slots.set_caps(super::caps(&self.settings).divided(nodes), uptime);
        self.go_all(going);
        if lost || !standing.may_fire {
            self.give_back_unbegun();
        }
        if lost {
            self.cut_off = true;
            self.wakes.launcher = true;
        }
        self.claim_at_once(uptime);
    }

    /// Whether attempts in flight are to be aborted; resets the flag.
    pub(crate) fn take_cut_off(&mut self) -> bool {
        std::mem::take(&mut self.cut_off)
    }

    /// Gives back all claims that were not begun.
    pub(super) fn give_back_unbegun(&mut self) {
        self.waiting.clear();
        self.beginning.clear();
        drop(self.slots.drain_parked());
        self.wakes.claimer = true;
    }

    /// The state of the node.
    pub(crate) fn report(&self) -> NodeReport {
        let count = |count| u32::try_from(count).unwrap_or(u32::MAX);
        NodeReport {
            fires: !self.stopping,
            held: count(self.slots.taken()),
            in_flight: count(self.slots.under_way()),
        }
    }
}
