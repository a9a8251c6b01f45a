//! The claimer's lane: claims what is due soon, and gives back what is not to be fired now.

use std::sync::Arc;

use crate::lane::{Next, rest};
use crate::machine::{ClaimerStep, Machine};
use crate::parts::Parts;

/// Claims until it is told to stop and has given back what there was.
pub(crate) async fn run(parts: Arc<Parts>) {
    let mut changes = parts.store.changes();
    changes.mark_unchanged();
    loop {
        match step(&parts).await {
            Next::Again => {}
            Next::Rest(until) => tokio::select! {
                () = rest(&parts, until.until) => {}
                () = parts.signals.claimer.wait() => {}
                () = parts.returns.came.notified() => {}
                _ = changes.changed() => parts.with(Machine::agenda_changed),
            },
            Next::Done => return,
        }
    }
}

/// Takes one step.
pub(crate) async fn step(parts: &Parts) -> Next {
    match parts.with(Machine::claimer) {
        ClaimerStep::Release(fences) => {
            let answer = parts.store.release(&fences).await;
            parts.with(|machine, uptime| machine.released(answer, uptime));
            Next::Again
        }
        ClaimerStep::Claim(ask) => {
            let answer = parts.store.claim(&ask).await;
            if parts.with(|machine, uptime| machine.claimed(&ask, answer, uptime)) {
                let answer = parts.store.next_due(&ask.passed_over).await;
                parts.with(|machine, uptime| machine.next_due(answer, uptime));
            }
            Next::Again
        }
        ClaimerStep::Rest(rest) => Next::Rest(rest),
        ClaimerStep::Done => Next::Done,
    }
}
