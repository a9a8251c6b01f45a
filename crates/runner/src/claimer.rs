//! The claimer's lane: claims what is due soon, and gives back what is not to be fired now.

use std::sync::Arc;

use punctual_store::{Standing, Trouble};
use tokio::sync::watch;

use crate::lane::{InHand, Next, rest};
use crate::machine::{ClaimerStep, Machine};
use crate::parts::Parts;

/// What it is called.
pub(crate) const NAME: &str = "claimer";

/// Runs until it is told to stop and has given everything back.
pub(crate) async fn run(parts: Arc<Parts>) {
    let mut changes = parts.store.changes();
    changes.mark_unchanged();
    let mut standings = parts.standings();
    let mut leases_end = true;
    loop {
        match step(&parts).await {
            Next::Again => {}
            Next::Rest(until) => tokio::select! {
                () = rest(&parts, until.until) => {}
                () = parts.signals.claimer.wait() => {}
                () = parts.dropped_claims.came.notified() => {}
                _ = changes.changed() => parts.with(Machine::agenda_changed),
                changed = standings.changed(), if leases_end => match changed {
                    Ok(()) => stand(&parts, &mut standings),
                    // Nobody is left who could change it.
                    Err(_) => leases_end = false,
                },
            },
            Next::Done => return,
        }
    }
}

/// Tells the machine where the node stands.
pub(crate) fn stand(parts: &Parts, standings: &mut watch::Receiver<Standing>) {
    let standing = *standings.borrow_and_update();
    parts.with(|machine, uptime| machine.set_standing(standing, uptime));
}

/// Takes one step.
pub(crate) async fn step(parts: &Parts) -> Next {
    match parts.with(Machine::claimer) {
        ClaimerStep::Release(fences) => {
            let released = |answer| parts.with(|machine, uptime| machine.released(answer, uptime));
            // A panic must not make anybody forget them: they are given back while the server stops.
            let in_hand = InHand::new((), |()| released(Err(Trouble::Unsure { doing: "give claims back" })));
            let answer = parts.store.release(&fences).await;
            in_hand.take();
            released(answer);
            Next::Again
        }
        ClaimerStep::Claim(ask) => {
            let answer = parts.store.claim(&ask).await;
            let (more, report) = parts.with(|machine, uptime| {
                let more = machine.claimed(&ask, answer, uptime);
                (more, machine.report())
            });
            parts.store.report(report);
            if more {
                let answer = parts.store.next_due(&ask.full_targets).await;
                parts.with(|machine, uptime| machine.next_due(answer, uptime));
            }
            Next::Again
        }
        ClaimerStep::Rest(rest) => Next::Rest(rest),
        ClaimerStep::Done => Next::Done,
    }
}
