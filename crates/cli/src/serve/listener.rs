//! Accepts connections until it is told to stop, and waits for what is under way then.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::connection::Connections;
use super::gate::Gate;

/// How long to wait when no connection can be accepted: mostly because there are no descriptors left.
const PAUSE: Duration = Duration::from_millis(50);

/// Tells listeners to stop.
#[derive(Clone, Debug, Default)]
pub(super) struct Stopper(watch::Sender<Option<Duration>>);

impl Stopper {
    /// Has listeners accept no more, and answers what was asked already, which has so long.
    pub(super) fn stop(&self, grace: Duration) {
        self.0.send_replace(Some(grace));
    }

    pub(super) fn stopping(&self) -> Stopping {
        Stopping(self.0.subscribe())
    }
}

/// Knows whether a listener is to stop.
#[derive(Clone, Debug)]
pub(super) struct Stopping(watch::Receiver<Option<Duration>>);

impl Stopping {
    /// Waits until it is to stop.
    pub(super) async fn begins(&mut self) {
        self.grace().await;
    }

    /// The same; answers how long what is under way has.
    async fn grace(&mut self) -> Duration {
        match self.0.wait_for(Option::is_some).await {
            Ok(grace) => grace.unwrap_or_default(),
            // Whoever could tell it is gone, and with it the reason to go on.
            Err(_) => Duration::ZERO,
        }
    }
}

/// Accepts connections on a port that is open, and serves them.
pub(super) async fn listen(
    listener: TcpListener,
    connections: Arc<Connections>,
    gate: Arc<Gate>,
    mut stopping: Stopping,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut open = JoinSet::new();
    let told = stopping.clone();
    let grace = loop {
        let accepted = tokio::select! {
            biased;
            grace = stopping.grace() => break grace,
            Some(_) = open.join_next(), if !open.is_empty() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                if let Some(place) = gate.admit(peer.ip()).await {
                    open.spawn(Arc::clone(&connections).serve(stream, peer, place, told.clone()));
                }
            }
            Err(error) => {
                gate.not_accepted(&error);
                tokio::time::sleep(PAUSE).await;
            }
        }
    };
    // From here on connecting is refused, rather than accepted by the system and never served.
    drop(listener);
    let ending = async { while open.join_next().await.is_some() {} };
    // What has not ended is cut off with the tasks.
    let _ = tokio::time::timeout(grace, ending).await;
    open.shutdown().await;
    Ok(())
}
