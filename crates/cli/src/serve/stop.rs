//! Stops on a signal, or when a task of the server has ended that must go on.

use std::time::Duration;

use punctual_runner::{Failure, Inspecting, Running, Supervisor, Tasks};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::deadline::Deadline;
use super::listener::Stopper;
use crate::exit::Exit;

/// How long callers are still answered after everything else has stopped because of a failure.
const ANSWERING_TIME_MAX: Duration = Duration::from_secs(2);

/// A stop may take so much longer than the grace, for what is left to close.
const CLOSING_TIME_MAX: Duration = Duration::from_secs(10);

/// The signals that ask for a stop. From here on they don't end the process by themselves.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    pub(super) async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => tracing::info!("SIGTERM: stopping"),
            _ = self.interrupt.recv() => tracing::info!("interrupted: stopping"),
        }
    }
}

/// What is to be stopped.
pub(super) struct Started {
    /// Answers callers, until the stopper says that it is to stop.
    pub(super) listening: Tasks,
    pub(super) stopper: Stopper,
    pub(super) running: Option<Running>,
    pub(super) inspecting: Option<Inspecting>,
    /// How long what is under way may take.
    pub(super) grace: Duration,
}

impl Started {
    /// Waits for a signal or a failure, and stops everything; the failure, if there was one.
    ///
    /// On a signal, serving and firing stop at once: both finish what they have begun. After a failure callers are
    /// answered until firing has stopped, so that `/readyz` and `/doctor` say why.
    pub(super) async fn stop_when_due(
        self,
        mut signals: Signals,
        supervisor: &Supervisor,
        deadline: &Deadline,
    ) -> Option<Failure> {
        let Self { listening, stopper, running, inspecting, grace } = self;
        let failed = tokio::select! {
            () = signals.wait() => false,
            failure = supervisor.failed() => {
                tracing::error!("stopping, to be started anew, because {failure}");
                true
            }
        };
        deadline.set(grace + CLOSING_TIME_MAX, if failed { Exit::TaskEnded } else { Exit::Failed });
        listening.tell_to_stop();
        if !failed {
            stopper.stop(grace);
        }
        if let Some(inspecting) = inspecting {
            inspecting.stop().await;
        }
        if let Some(running) = running {
            running.stop().await;
        }
        if failed {
            stopper.stop(ANSWERING_TIME_MAX);
        }
        if !listening.stop(grace + ANSWERING_TIME_MAX).await.is_empty() {
            tracing::warn!("stopping although not all callers were answered in time");
        }
        supervisor.failure()
    }
}
