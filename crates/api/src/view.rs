//! What live views ask for: jobs across collections, statistics, and what is due when. Scoped by the rights of the caller, and bounded in cost.

mod agenda;
mod jobs;
mod stats;

pub(crate) use agenda::{agenda, agenda_jobs};
pub(crate) use jobs::jobs;
pub(crate) use stats::stats;

use punctual_arm::ApiError;
use punctual_model::Scope;
use punctual_model::access::Role;

use crate::operation::Operation;
use crate::request::Call;
use crate::right::denied;

/// The parts of a scope that the caller may read; 403 if there is none, whether the scope exists or not.
fn readable(asked: &Operation, call: &Call<'_>, scope: &Scope) -> Result<Vec<Scope>, ApiError> {
    let parts = call.caller.parts(Role::Reader, scope);
    if parts.is_empty() {
        return Err(denied(&call.caller, &asked.route.action(), scope));
    }
    Ok(parts)
}

/// Does something that takes a while on a thread that serves nobody.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| ApiError::internal())
}
