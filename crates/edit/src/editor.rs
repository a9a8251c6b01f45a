//! The editor, and how often it tries.

use std::future::Future;
use std::sync::Arc;

use punctual_model::access::{Caller, Role};
use punctual_model::{Clock, Limits, Scope};
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
    /// Who wants the changes. Whether the caller may ask for them at all was decided before; what depends on what a
    /// change comes to is decided here.
    pub caller: &'a Caller,
}

impl Editor<'_> {
    /// Refuses a change of more than the state, by a caller that may change no more.
    pub(crate) fn check_more_than_state<E>(&self, scope: Scope) -> Result<(), EditError<E>> {
        if self.caller.may(Role::Contributor, &scope) {
            return Ok(());
        }
        Err(EditError::Denied(Box::new((self.caller.clone(), scope))))
    }

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
