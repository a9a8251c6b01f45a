//! What the lanes of a runner have in common.

use std::time::Duration;

use crate::context::RunnerContext;
use crate::machine::Rest;

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

/// What a call to the store is about. If the call does not come back, because it panicked or was cut off, what it is
/// about goes back to where it belongs, and what became of it is not known.
pub(crate) struct InHand<T, B: FnOnce(T)>(Option<(T, B)>);

impl<T, B: FnOnce(T)> InHand<T, B> {
    pub(crate) fn new(value: T, back: B) -> Self {
        Self(Some((value, back)))
    }

    /// The call has come back.
    pub(crate) fn take(mut self) -> Option<T> {
        self.0.take().map(|(value, _)| value)
    }
}

impl<T, B: FnOnce(T)> Drop for InHand<T, B> {
    fn drop(&mut self) {
        if let Some((value, back)) = self.0.take() {
            back(value);
        }
    }
}

/// Waits until an uptime of the runner.
pub(crate) async fn rest(context: &RunnerContext, until: Duration) {
    tokio::time::sleep(until.saturating_sub(context.uptime())).await;
}
