//! Stops on a signal.

use std::net::SocketAddr;
use std::time::Duration;

use axum_server::Handle;
use punctual_runner::{Inspecting, Running};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask for a stop. From here on they don't end the process by themselves.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => tracing::info!("SIGTERM: stopping"),
            _ = self.interrupt.recv() => tracing::info!("interrupted: stopping"),
        }
    }
}

/// Waits for a signal, then stops serving and firing at the same time; both finish what they have begun.
pub(super) async fn on_signal(
    mut signals: Signals,
    handle: Handle<SocketAddr>,
    grace: Duration,
    running: Option<Running>,
    inspecting: Option<Inspecting>,
) {
    signals.wait().await;
    handle.graceful_shutdown(Some(grace));
    if let Some(inspecting) = inspecting {
        inspecting.stop().await;
    }
    if let Some(running) = running {
        running.stop().await;
    }
}
