//! The interface to what carries out actions.

use async_trait::async_trait;
use punctual_model::{Firing, Go, Outcome};

/// Carries out attempts. There are no errors: whatever goes wrong is a failed attempt. An attempt must end by
/// itself within its timeout.
#[async_trait]
pub trait Dispatcher: Send + Sync {
    /// Makes the attempt and says how it ended. Asks `go` right before the first byte of the request is sent, when
    /// name, connection and token are there; if that says no, nothing is sent, and the answer is none.
    async fn fire(&self, firing: &Firing, go: &Go) -> Option<Outcome>;
}
