//! How busy a runner is, for whoever asks why something waits.

use std::sync::Arc;

use punctual_model::inspect::Finding;

use crate::Runner;
use crate::clock_book::Totals;
use crate::machine::Crowd;
use crate::parts::Parts;

/// Can be asked how busy a runner is, also while it runs.
pub struct Load {
    parts: Arc<Parts>,
}

impl Runner {
    /// How busy it is, to be asked while it runs.
    pub fn load(&self) -> Load {
        Load { parts: Arc::clone(&self.parts) }
    }
}

impl Load {
    /// What the clock did lately, and how often each of that was found since the start.
    pub(crate) fn clock_findings(&self) -> (Vec<Finding>, Totals) {
        let parts = &self.parts;
        let now = parts.clock.now();
        parts.clock.watch().map_or_else(Default::default, |watch| parts.clock_book.findings(watch, now))
    }

    /// Whether this node is the one that looks through all jobs.
    pub(crate) fn first(&self) -> bool {
        self.parts.standing().first()
    }

    pub(crate) fn crowd(&self) -> Crowd {
        self.parts.machine().crowd(self.parts.uptime())
    }
}
