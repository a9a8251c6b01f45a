//! The editor, and how often it tries.

use std::future::Future;
use std::sync::Arc;

use punctual_model::{Clock, Limits};
use punctual_store::Resources;

use crate::error::{EditError, Missed};

/// How often a write is tried. Each failure means that somebody else's write succeeded, so only a flood of
/// writes to one resource gets here.
const TRIES_MAX: u32 = 100;

/// Makes changes.
#[derive(Clone, Copy)]
pub struct Editor<'a> {
    /// The store that is changed.
    pub store: &'a dyn Resources,
    /// The clock of schedules: every change is decided at an instant.
    pub clock: &'a Arc<dyn Clock>,
    /// The limits of the plans.
    pub limits: &'a Limits,
}

impl Editor<'_> {
    /// Tries until a write succeeds or is refused for good.
    pub(crate) async fn until_written<T, E, F: Future<Output = Result<T, Missed<E>>>>(
        &self,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, EditError<E>> {
        for _ in 0..TRIES_MAX {
            match attempt().await {
                Ok(written) => return Ok(written),
                Err(Missed::Refused(error)) => return Err(error),
                Err(Missed::Stale) => tokio::task::yield_now().await,
            }
        }
        Err(EditError::Contention)
    }
}
