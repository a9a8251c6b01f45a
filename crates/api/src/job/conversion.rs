//! Converts bodies into the model, and does other work that may take long. Few at a time.
//!
//! A certificate file asks for as many rounds of key derivation as its author chose, up to a bound. So nothing that serves
//! requests opens one: a body is read without, and only if it turns out that a file must be opened, it is read again on a
//! thread for work that takes long. Which body needs that is not guessed from its text: a PATCH of the password alone does.

use std::sync::Arc;
use std::time::Duration;

use punctual_arm::ApiError;
use punctual_arm::job::{Opening, Unread};
use tokio::sync::Semaphore;

/// How many files are opened at once: on a small machine they leave room for what is due.
const OPENERS: usize = 2;

/// How many calculations are made at once.
const CALCULATORS: usize = 2;

/// How long a body waits for its turn.
const TURN_TIME_MAX: Duration = Duration::from_secs(10);

/// Where certificate files are opened, and where calculations are made that may take milliseconds.
#[derive(Clone, Debug)]
pub struct Openers {
    openers: Arc<Semaphore>,
    calculators: Arc<Semaphore>,
}

impl Default for Openers {
    fn default() -> Self {
        Self {
            openers: Arc::new(Semaphore::new(OPENERS)),
            calculators: Arc::new(Semaphore::new(CALCULATORS)),
        }
    }
}

impl Openers {
    /// Converts a body.
    pub(crate) async fn convert<T: Send + 'static>(
        &self,
        conversion: impl Fn(Opening) -> Result<T, Unread> + Send + 'static,
    ) -> Result<T, ApiError> {
        match conversion(Opening::Denied) {
            Ok(converted) => return Ok(converted),
            Err(Unread::Rejected(error)) => return Err(error),
            Err(Unread::MustOpen) => {}
        }
        in_turn(&self.openers, move || conversion(Opening::Allowed)).await.and_then(opened)
    }

    /// Converts a body and calculates with it; that, too, is left to a thread for work that takes long.
    pub(crate) async fn calculate<T: Send + 'static>(
        &self,
        conversion: impl Fn(Opening) -> Result<T, Unread> + Send + Sync + 'static,
    ) -> Result<T, ApiError> {
        let conversion = Arc::new(conversion);
        let without = Arc::clone(&conversion);
        match in_turn(&self.calculators, move || without(Opening::Denied)).await? {
            Err(Unread::MustOpen) => {}
            converted => return opened(converted),
        }
        in_turn(&self.openers, move || conversion(Opening::Allowed)).await.and_then(opened)
    }
}

/// Does something on a thread for work that takes long, when it is its turn.
async fn in_turn<T: Send + 'static>(
    turns: &Arc<Semaphore>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let turn = tokio::time::timeout(TURN_TIME_MAX, Arc::clone(turns).acquire_owned()).await;
    let Ok(Ok(turn)) = turn else { return Err(ApiError::too_many_requests()) };
    let done = tokio::task::spawn_blocking(move || {
        let done = work();
        // The thread holds the turn: it is busy even if the caller has gone.
        drop(turn);
        done
    });
    done.await.map_err(|_| ApiError::internal())
}

/// What was converted where files may be opened.
fn opened<T>(converted: Result<T, Unread>) -> Result<T, ApiError> {
    match converted {
        Ok(converted) => Ok(converted),
        Err(Unread::Rejected(error)) => Err(error),
        Err(Unread::MustOpen) => Err(ApiError::internal()),
    }
}
