//! The launcher's lane: confirms what is due, and starts its attempts.

use std::sync::Arc;

use punctual_store::Trouble;
use tokio::task::{JoinError, JoinSet};

use crate::attempt;
use crate::context::RunnerContext;
use crate::hold::Held;
use crate::lane::InHand;
use crate::machine::Machine;

/// What it is called.
pub(crate) const NAME: &str = "launcher";

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
pub(crate) async fn run(context: Arc<RunnerContext>) {
    let mut attempts = Attempts(JoinSet::new());
    loop {
        match step(&context).await {
            Launch::Going(going) => {
                for held in going {
                    attempts.0.spawn(attempt::run(Arc::clone(&context), held));
                }
                while let Some(ended) = attempts.0.try_join_next() {
                    tell(ended);
                }
                // The first of a herd run before the rest is examined.
                tokio::task::yield_now().await;
            }
            Launch::CutOff => attempts.0.abort_all(),
            Launch::Rest => context.signals.launcher.wait().await,
            Launch::Done => break,
        }
    }
    while let Some(ended) = attempts.0.join_next().await {
        tell(ended);
    }
}

/// The attempts under way. Dropping them cuts them off; but if the launcher panics they go on, so that what they come
/// to is recorded while the server stops.
struct Attempts(JoinSet<()>);

impl Drop for Attempts {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.detach_all();
        }
    }
}

/// A panic is a bug; it costs an attempt, whose claim is given back.
fn tell(ended: Result<(), JoinError>) {
    if ended.is_err_and(|error| error.is_panic()) {
        tracing::error!("an attempt ended by a panic; it will be made again with the same tag");
    }
}

/// Takes one step.
pub(crate) async fn step(context: &RunnerContext) -> Launch {
    if context.with(|machine, _| machine.take_cut_off()) {
        return Launch::CutOff;
    }
    loop {
        let batch = context.with(Machine::begin);
        if !batch.held.is_empty() {
            return Launch::Going(begin(context, batch.held).await);
        }
        if !batch.more {
            let done = context.with(|machine, _| machine.all_begun());
            return if done { Launch::Done } else { Launch::Rest };
        }
    }
}

/// Confirms claims; returns those that may be fired.
pub(crate) async fn begin(context: &RunnerContext, mut held: Vec<Held>) -> Vec<Held> {
    let fences: Vec<_> = held.iter().map(|held| held.hold.fence).collect();
    if let Some(begun_at) = context.store.boot() {
        held.iter_mut().for_each(|held| held.hold.begun_at = Some(begun_at));
    }
    let begun = |held, answer| context.with(|machine, uptime| machine.begun(held, answer, uptime));
    // If whoever asks is cut off or panics, others may ask.
    let in_hand =
        InHand::new(held, |held| drop(begun(held, Err(Trouble::Unsure { doing: "confirm claims" }))));
    let answer = context.store.begin(&fences).await;
    in_hand.take().map(|held| begun(held, answer)).unwrap_or_default()
}
