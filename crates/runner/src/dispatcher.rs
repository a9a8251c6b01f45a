//! Who carries out actions.

use async_trait::async_trait;
use punctual_model::{Firing, Outcome};

/// Carries out one attempt. There are no errors: whatever goes wrong is a failed attempt. It must end by
/// itself within its time-out.
#[async_trait]
pub trait Dispatcher: Send + Sync {
    /// Makes the attempt and says how it ended.
    async fn fire(&self, firing: &Firing) -> Outcome;
}
