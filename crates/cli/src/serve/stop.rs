//! Stopping on a signal.

use std::net::SocketAddr;
use std::time::Duration;

use axum_server::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that mean "stop". From here on they don't end the process by themselves.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for one of them, then lets the server finish what it has begun.
    pub(super) async fn stop(mut self, handle: Handle<SocketAddr>, grace: Duration) {
        tokio::select! {
            _ = self.terminate.recv() => tracing::info!("SIGTERM: stopping"),
            _ = self.interrupt.recv() => tracing::info!("interrupted: stopping"),
        }
        handle.graceful_shutdown(Some(grace));
    }
}
