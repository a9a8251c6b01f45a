//! Keeps jobs from calling other nodes, as they are kept from calling this one.

use std::sync::Arc;
use std::time::Duration;

use punctual_actions::{Actions, OwnAddresses};
use punctual_runner::{Supervisor, Tasks};

use super::own;
use crate::store::Shared;

/// Follows where other nodes can be reached.
pub(super) struct Refusing {
    tasks: Tasks,
}

impl Refusing {
    pub(super) fn start(
        actions: Arc<Actions>,
        addresses: OwnAddresses,
        shared: &Shared,
        supervisor: &Supervisor,
    ) -> Self {
        let mut peers = shared.database.peers();
        // Those that there are, before anything is fired.
        actions.refuse_own(with(&addresses, &peers.borrow_and_update()));
        let mut tasks = supervisor.tasks();
        let mut stop = tasks.told_to_stop();
        tasks.spawn("watcher of other nodes", async move {
            loop {
                tokio::select! {
                    changed = peers.changed() => if changed.is_err() {
                        break;
                    },
                    _ = stop.wait_for(|stopped| *stopped) => break,
                }
                actions.refuse_own(with(&addresses, &peers.borrow_and_update()));
            }
        });
        Self { tasks }
    }

    pub(super) async fn stop(self) {
        // It waits for nothing but changes.
        self.tasks.stop(Duration::ZERO).await;
    }
}

/// The addresses of this node, and those of others.
fn with(own: &OwnAddresses, peers: &[String]) -> OwnAddresses {
    let mut all = own.clone();
    for (host, port) in peers.iter().filter_map(|url| own::host_of(url)) {
        all.add_name(&host, port);
    }
    all
}
