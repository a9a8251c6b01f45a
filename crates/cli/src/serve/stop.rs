//! Stopping on a signal.

use std::net::SocketAddr;
use std::time::Duration;

use axum_server::Handle;
use tokio::signal::unix::{SignalKind, signal};

/// Waits for SIGTERM or SIGINT, then lets the server finish what it has begun.
pub(super) async fn on_signal(handle: Handle<SocketAddr>, grace: Duration) {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        tracing::error!("could not listen for signals: only kill -9 will stop this process");
        return;
    };
    tokio::select! {
        _ = terminate.recv() => tracing::info!("SIGTERM: stopping"),
        _ = interrupt.recv() => tracing::info!("interrupted: stopping"),
    }
    handle.graceful_shutdown(Some(grace));
}
