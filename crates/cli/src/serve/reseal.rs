//! Seals everything anew after a rotation of keys, while the server runs.

use std::sync::Arc;
use std::time::Duration;

use punctual_runner::{Supervisor, Tasks};

use crate::keys::Keeper;

/// How long a stop waits for a piece that is being written.
const PIECE_TIME_MAX: Duration = Duration::from_secs(2);

/// Seals anew what is to be.
pub(super) struct Resealing {
    tasks: Tasks,
}

impl Resealing {
    pub(super) fn start(keeper: &Arc<Keeper>, supervisor: &Supervisor) -> Self {
        let mut tasks = supervisor.tasks();
        let mut stop = tasks.told_to_stop();
        let keeper = Arc::clone(keeper);
        tasks.spawn("keeper of keys", async move {
            keeper.tidy().await;
            tokio::select! {
                () = keeper.attend() => {}
                _ = stop.wait_for(|stopped| *stopped) => {}
            }
        });
        Self { tasks }
    }

    /// It goes on at the next start where it is now.
    pub(super) async fn stop(self) {
        self.tasks.stop(PIECE_TIME_MAX).await;
    }
}
