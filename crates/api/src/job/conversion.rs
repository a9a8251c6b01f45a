//! Converts bodies into the model. Certificate files are opened elsewhere, and few at a time.
//!
//! A file asks for as many rounds of key derivation as its author chose, up to a bound. So nothing that serves requests
//! opens one: a body is read without, and only if it turns out that a file must be opened, it is read again on a thread
//! for work that takes long. Which body needs that is not guessed from its text: a PATCH of the password alone does.

use std::sync::Arc;
use std::time::Duration;

use punctual_arm::ApiError;
use punctual_arm::job::{Opening, Unread};
use punctual_model::JobSpec;
use tokio::sync::Semaphore;

/// How many files are opened at once: on a small machine they leave room for what is due.
const OPENERS: usize = 2;

/// How long a body waits for its turn.
const TURN_TIME_MAX: Duration = Duration::from_secs(10);

/// Where certificate files are opened.
#[derive(Clone, Debug)]
pub struct Openers(Arc<Semaphore>);

impl Default for Openers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(OPENERS)))
    }
}

impl Openers {
    /// Converts a body.
    pub(super) async fn convert(
        &self,
        conversion: impl Fn(Opening) -> Result<JobSpec, Unread> + Send + 'static,
    ) -> Result<JobSpec, ApiError> {
        match conversion(Opening::Denied) {
            Ok(spec) => return Ok(spec),
            Err(Unread::Rejected(error)) => return Err(error),
            Err(Unread::MustOpen) => {}
        }
        let turn = tokio::time::timeout(TURN_TIME_MAX, Arc::clone(&self.0).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(ApiError::too_many_requests()) };
        let opening = tokio::task::spawn_blocking(move || {
            let converted = conversion(Opening::Allowed);
            // The thread holds the turn: it is busy even if the caller has gone.
            drop(turn);
            converted
        });
        match opening.await {
            Ok(Ok(spec)) => Ok(spec),
            Ok(Err(Unread::Rejected(error))) => Err(error),
            Ok(Err(Unread::MustOpen)) | Err(_) => Err(ApiError::internal()),
        }
    }
}
