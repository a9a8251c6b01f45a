//! How busy a runner is, for the inspector.

use std::sync::Arc;

use punctual_model::inspect::Finding;

use crate::Runner;
use crate::clock_findings::Totals;
use crate::machine::SlotPressure;
use crate::parts::Parts;

/// A handle that tells how busy a runner is while it runs.
pub struct Load {
    parts: Arc<Parts>,
}

impl Runner {
    /// How busy it is, also while it runs.
    pub fn load(&self) -> Load {
        Load { parts: Arc::clone(&self.parts) }
    }
}

impl Load {
    /// The findings about the clock, and the totals of each kind since the start.
    pub(crate) fn clock_findings(&self) -> (Vec<Finding>, Totals) {
        let parts = &self.parts;
        let now = parts.clock.now();
        parts.clock.watch().map_or_else(Default::default, |watch| parts.clock_findings.findings(watch, now))
    }

    /// Whether this node is the one that looks through all jobs.
    pub(crate) fn first(&self) -> bool {
        self.parts.standing().first()
    }

    pub(crate) fn slot_pressure(&self) -> SlotPressure {
        self.parts.machine().slot_pressure(self.parts.uptime())
    }
}
