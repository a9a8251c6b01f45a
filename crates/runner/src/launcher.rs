//! The launcher's lane: confirms what is due, and starts its attempts.

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::attempt;
use crate::hold::Held;
use crate::machine::Machine;
use crate::parts::Parts;

/// What a step came to.
pub(crate) enum Launch {
    /// These are to be fired.
    Going(Vec<Held>),
    /// Nothing until it is woken.
    Rest,
    /// Nothing any more.
    Done,
}

/// Starts attempts until it is told to stop, and then waits for those under way. Dropping it gives them up.
pub(crate) async fn run(parts: Arc<Parts>) {
    let mut attempts = JoinSet::new();
    loop {
        match step(&parts).await {
            Launch::Going(going) => {
                for held in going {
                    attempts.spawn(attempt::run(Arc::clone(&parts), held));
                }
                while attempts.try_join_next().is_some() {}
                // The first of a herd run before the rest is looked at.
                tokio::task::yield_now().await;
            }
            Launch::Rest => parts.signals.launcher.wait().await,
            Launch::Done => break,
        }
    }
    while attempts.join_next().await.is_some() {}
}

/// Takes one step.
pub(crate) async fn step(parts: &Parts) -> Launch {
    loop {
        let batch = parts.with(Machine::begin);
        if !batch.held.is_empty() {
            return Launch::Going(begin(parts, batch.held).await);
        }
        if !batch.more {
            let done = parts.with(|machine, _| machine.all_begun());
            return if done { Launch::Done } else { Launch::Rest };
        }
    }
}

/// Confirms claims: those that may be fired.
pub(crate) async fn begin(parts: &Parts, held: Vec<Held>) -> Vec<Held> {
    let fences: Vec<_> = held.iter().map(|held| held.hold.fence).collect();
    let answer = parts.store.begin(&fences).await;
    parts.with(|machine, uptime| machine.begun(held, answer, uptime))
}
