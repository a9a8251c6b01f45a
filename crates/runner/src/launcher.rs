//! The launcher's lane: confirms what is due, and starts its attempts.

use std::sync::Arc;

use punctual_store::Trouble;
use tokio::task::JoinSet;

use crate::attempt;
use crate::hold::Held;
use crate::machine::Machine;
use crate::parts::Parts;

/// The result of a step.
pub(crate) enum Launch {
    /// These are to be fired.
    Going(Vec<Held>),
    /// What is under way is to be cut off: it is somebody else's.
    CutOff,
    /// Rest until it is woken.
    Rest,
    /// The lane has ended.
    Done,
}

/// Starts attempts until it is told to stop, and then waits for those in flight. Dropping it aborts them.
pub(crate) async fn run(parts: Arc<Parts>) {
    let mut attempts = JoinSet::new();
    loop {
        match step(&parts).await {
            Launch::Going(going) => {
                for held in going {
                    attempts.spawn(attempt::run(Arc::clone(&parts), held));
                }
                while attempts.try_join_next().is_some() {}
                // The first of a herd run before the rest is examined.
                tokio::task::yield_now().await;
            }
            Launch::CutOff => attempts.abort_all(),
            Launch::Rest => parts.signals.launcher.wait().await,
            Launch::Done => break,
        }
    }
    while attempts.join_next().await.is_some() {}
}

/// Takes one step.
pub(crate) async fn step(parts: &Parts) -> Launch {
    if parts.with(|machine, _| machine.take_cut_off()) {
        return Launch::CutOff;
    }
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

/// Confirms claims; returns those that may be fired.
pub(crate) async fn begin(parts: &Parts, held: Vec<Held>) -> Vec<Held> {
    let fences: Vec<_> = held.iter().map(|held| held.hold.fence).collect();
    let mut asking = Asking { parts, held };
    if let Some(begun_at) = parts.store.boot() {
        asking.held.iter_mut().for_each(|held| held.hold.begun_at = Some(begun_at));
    }
    let answer = parts.store.begin(&fences).await;
    let held = std::mem::take(&mut asking.held);
    parts.with(|machine, uptime| machine.begun(held, answer, uptime))
}

/// A call to the store is in flight. If its task is aborted or panics, others may call.
struct Asking<'a> {
    parts: &'a Parts,
    held: Vec<Held>,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if !self.held.is_empty() {
            let held = std::mem::take(&mut self.held);
            let answer = Err(Trouble::Unsure { doing: "confirm claims" });
            self.parts.with(|machine, uptime| machine.begun(held, answer, uptime));
        }
    }
}
