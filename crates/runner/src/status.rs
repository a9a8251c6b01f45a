//! How busy a runner is, for the inspector and for metrics.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_model::inspect::Finding;

use crate::Runner;
use crate::clock_findings::Totals;
use crate::context::RunnerContext;
use crate::machine::SlotPressure;

/// A handle that tells how busy a runner is while it runs.
#[derive(Clone)]
pub struct RunnerStatus {
    context: Arc<RunnerContext>,
}

/// How busy a runner is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunnerLoad {
    /// How many claims may be held.
    pub slot_count_max: usize,
    /// How many claims are held. Those that wait for their collection take no slot, so there may be more than slots.
    pub claim_count: usize,
    /// How many claims are due and wait for a slot of their target or their collection.
    pub parked_count: usize,
    /// How many attempts are in flight.
    pub in_flight_count: usize,
    /// How many attempts have ended and are not recorded yet.
    pub unrecorded_count: usize,
    /// How many claims are due and have not begun, for whatever reason.
    pub waiting_count: usize,
    /// Since when the oldest of those is due.
    pub oldest_due_at: Option<Timestamp>,
}

impl Runner {
    /// How busy it is, also while it runs.
    pub fn status(&self) -> RunnerStatus {
        RunnerStatus { context: Arc::clone(&self.context) }
    }
}

impl RunnerStatus {
    /// How busy it is now.
    pub fn load(&self) -> RunnerLoad {
        self.context.machine().load()
    }

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
