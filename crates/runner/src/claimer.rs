//! The claimer's lane: claims what is due soon, and gives back what is not to be fired now.

use std::sync::Arc;

use punctual_store::{NodeStanding, Trouble};
use tokio::sync::watch;

use crate::context::RunnerContext;
use crate::lane::{InHand, Next, rest};
use crate::machine::{ClaimerStep, Machine};

/// What it is called.
pub(crate) const NAME: &str = "claimer";

/// Runs until it is told to stop and has given everything back.
pub(crate) async fn run(context: Arc<RunnerContext>) {
    let mut changes = context.store.changes();
    changes.mark_unchanged();
    let mut standings = context.standings();
    let mut leases_end = true;
    loop {
        match step(&context).await {
            Next::Again => {}
            Next::Rest(until) => tokio::select! {
                () = rest(&context, until.until) => {}
                () = context.signals.claimer.wait() => {}
                () = context.dropped_claims.came.notified() => {}
                _ = changes.changed() => context.with(Machine::agenda_changed),
                changed = standings.changed(), if leases_end => match changed {
                    Ok(()) => stand(&context, &mut standings),
                    // Nobody is left who could change it.
                    Err(_) => leases_end = false,
                },
            },
            Next::Done => return,
        }
    }
}

/// Tells the machine where the node stands.
pub(crate) fn stand(context: &RunnerContext, standings: &mut watch::Receiver<NodeStanding>) {
    let standing = *standings.borrow_and_update();
    context.with(|machine, uptime| machine.set_standing(standing, uptime));
}

/// Takes one step.
pub(crate) async fn step(context: &RunnerContext) -> Next {
    match context.with(Machine::claimer) {
        ClaimerStep::Release(fences) => {
            let released = |answer| context.with(|machine, uptime| machine.released(answer, uptime));
            // A panic must not make anybody forget them: they are given back while the server stops.
            let in_hand = InHand::new((), |()| released(Err(Trouble::Unsure { doing: "give claims back" })));
            let answer = context.store.release(&fences).await;
            in_hand.take();
            released(answer);
            Next::Again
        }
        ClaimerStep::Claim(ask) => {
            let answer = context.store.claim(&ask).await;
            let (more, report) = context.with(|machine, uptime| {
                let more = machine.claimed(&ask, answer, uptime);
                (more, machine.report())
            });
            context.store.report(report);
            if more {
                let answer = context.store.next_due(&ask.full_targets).await;
                context.with(|machine, uptime| machine.next_due(answer, uptime));
            }
            Next::Again
        }
        ClaimerStep::Rest(rest) => Next::Rest(rest),
        ClaimerStep::Done => Next::Done,
    }
}
