//! How busy a runner is, for the inspector.

use std::sync::Arc;

use punctual_model::inspect::Finding;

use crate::Runner;
use crate::clock_findings::Totals;
use crate::context::RunnerContext;
use crate::machine::SlotPressure;

/// A handle that tells how busy a runner is while it runs.
pub struct RunnerStatus {
    context: Arc<RunnerContext>,
}

impl Runner {
    /// How busy it is, also while it runs.
    pub fn status(&self) -> RunnerStatus {
        RunnerStatus { context: Arc::clone(&self.context) }
    }
}

impl RunnerStatus {
    /// The findings about the clock, and the totals of each kind since the start.
    pub(crate) fn clock_findings(&self) -> (Vec<Finding>, Totals) {
        let context = &self.context;
        let now = context.clock.now();
        context
            .clock
            .watch()
            .map_or_else(Default::default, |watch| context.clock_findings.findings(watch, now))
    }

    /// Whether this node is the one that looks through all jobs.
    pub(crate) fn first(&self) -> bool {
        self.context.standing().first()
    }

    pub(crate) fn slot_pressure(&self) -> SlotPressure {
        self.context.machine().slot_pressure(self.context.uptime())
    }
}
