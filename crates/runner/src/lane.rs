//! What the lanes of a runner have in common.

use std::time::Duration;

use crate::machine::Rest;
use crate::parts::Parts;

/// What follows a step of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another step right away.
    Again,
    /// Rest until then, or until it is woken.
    Rest(Rest),
    /// The lane has ended.
    Done,
}

/// Waits until an uptime of the runner.
pub(crate) async fn rest(parts: &Parts, until: Duration) {
    tokio::time::sleep(until.saturating_sub(parts.uptime())).await;
}
