//! Starts the inspector.

use std::sync::Arc;
use std::time::Duration;

use punctual_model::Clock;
use punctual_runner::{Inspecting, Inspector, InspectorSettings, RunnerStatus, Supervisor};
use punctual_store::{Store, Survey};

use crate::config::InspectorConfig;

/// Builds the inspector, and starts it unless it is disabled. Without a runner in this process nothing counts
/// as overdue.
pub(super) fn start(
    config: &InspectorConfig,
    store: &Arc<dyn Store>,
    clock: &Arc<dyn Clock>,
    status: Option<RunnerStatus>,
    supervisor: &Supervisor,
) -> (Arc<Inspector>, Option<Inspecting>) {
    let settings = InspectorSettings {
        look_every: Duration::from_secs(config.look_seconds.max(1)),
        tolerance: Duration::from_secs(config.tolerance_seconds.max(1)),
        pass_every: Duration::from_secs(config.pass_seconds.max(1)),
    };
    let store: Arc<dyn Survey> = Arc::<dyn Store>::clone(store);
    let inspector = Inspector::new(store, Arc::clone(clock), status, settings).supervised(supervisor);
    let inspector = Arc::new(inspector);
    let inspecting = config.enabled.then(|| inspector.start());
    (inspector, inspecting)
}
