//! The recorder's lane: settles finished attempts in batches, and keeps them until they are durable.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use punctual_model::{Limits, decide};
use punctual_store::{Settled, Settlement, Trouble};

use crate::Event;
use crate::context::RunnerContext;
use crate::lane::{InHand, Next, rest};
use crate::machine::{Machine, Open, RecorderStep};

/// What it is called.
pub(crate) const NAME: &str = "recorder";

/// Runs until it is told to stop and nothing is left.
pub(crate) async fn run(context: Arc<RunnerContext>) {
    loop {
        match step(&context).await {
            Next::Again => {}
            Next::Rest(until) => tokio::select! {
                () = rest(&context, until.until) => {}
                () = context.signals.recorder.wait() => {}
            },
            Next::Done => return,
        }
    }
}

/// Takes one step.
pub(crate) async fn step(context: &RunnerContext) -> Next {
    let mut batch = match context.with(Machine::recorder) {
        RecorderStep::Settle(batch) => batch,
        RecorderStep::Rest(rest) => return Next::Rest(rest),
        RecorderStep::Done => return Next::Done,
    };
    let mut settlements = Vec::with_capacity(batch.len());
    let undecided: Vec<Open> = batch
        .extract_if(.., |open| match settlement_safely(open, &context.settings.limits) {
            Some(settlement) => {
                settlements.push(settlement);
                false
            }
            None => true,
        })
        .collect();
    if !undecided.is_empty() {
        context.with(|machine, uptime| machine.keep_undecided(undecided, uptime));
    }
    let recorded = |batch, answer| context.with(|machine, uptime| machine.recorded(batch, answer, uptime));
    // What was fired is not forgotten by a panic: it is offered again while the server stops.
    let unsure = |batch| drop(recorded(batch, Err(Trouble::Unsure { doing: "record what was fired" })));
    let in_hand = InHand::new(batch, unsure);
    let answer = if settlements.is_empty() { Ok(Vec::new()) } else { settle(context, settlements).await };
    // Dropped without the lock of the machine.
    let _over = in_hand.take().map(|batch| recorded(batch, answer));
    Next::Again
}

/// Has the store record a batch, and tells how long that took.
async fn settle(context: &RunnerContext, settlements: Vec<Settlement>) -> Result<Vec<Settled>, Trouble> {
    let (size, began) = (settlements.len(), context.uptime());
    let answer = context.store.settle(settlements).await;
    let took = context.uptime().saturating_sub(began);
    context.observer.hear(&Event::Batch { size, took, recorded: answer.is_ok() });
    answer
}

/// A panic is a bug, reported when it happens; it must cost only this job.
fn settlement_safely(open: &mut Open, limits: &Limits) -> Option<Settlement> {
    let decided = catch_unwind(AssertUnwindSafe(|| settlement(open, limits))).ok();
    match &decided {
        Some(settlement) => open.skips.clone_from(&settlement.skips),
        None => {
            let job = &open.fired.attempt.claimed.key.name;
            tracing::error!(%job, "an internal error kept an attempt from being settled");
        }
    }
    decided
}

fn settlement(open: &Open, limits: &Limits) -> Settlement {
    let (current, sku) = match &open.edited {
        None => (&open.fired.attempt.claimed, open.fired.sku),
        Some((job, sku)) => (job, *sku),
    };
    let verdict = decide::settle(&open.fired.attempt, current, limits.of(sku));
    Settlement {
        fence: open.fired.hold.fence,
        job: verdict.job,
        records: verdict.records,
        skips: verdict.skips,
    }
}
