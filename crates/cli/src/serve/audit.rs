//! Keeps the audit log while the server runs.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use punctual_api::Auditor;
use punctual_runner::{Supervisor, Tasks};
use punctual_store::AuditLog;

use crate::clock::RealClock;
use crate::config::AuditConfig;

/// How long writing and sealing the last entries may take.
const SEALING_TIME_MAX: Duration = Duration::from_secs(5);

pub(super) fn open(config: &AuditConfig, log: Arc<dyn AuditLog>) -> Arc<Auditor> {
    let days = i64::from(config.retention_days);
    let retention = (days > 0).then(|| SignedDuration::from_hours(days * 24));
    Arc::new(Auditor::new(log, Arc::new(RealClock), config.enabled, retention))
}

/// Writes what was refused, seals the log and deletes what is too old.
pub(super) struct Auditing {
    auditor: Arc<Auditor>,
    tasks: Tasks,
}

impl Auditing {
    pub(super) fn start(auditor: &Arc<Auditor>, supervisor: &Supervisor) -> Self {
        let attended = Arc::clone(auditor);
        let mut tasks = supervisor.tasks();
        tasks.spawn("keeper of the audit log", async move { attended.attend().await });
        Self { auditor: Arc::clone(auditor), tasks }
    }

    /// To be called when nobody is served any more: writes and seals the last entries.
    pub(super) async fn stop(self) {
        self.tasks.stop(Duration::ZERO).await;
        match tokio::time::timeout(SEALING_TIME_MAX, self.auditor.finish()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the last entries of the audit log could not be sealed"),
            Err(_) => tracing::warn!("the last entries of the audit log could not be sealed in time"),
        }
    }
}
