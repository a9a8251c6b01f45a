//! One attempt: from a claim that may go to what the recorder needs.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use punctual_model::{Clock, ExecutionTag, Firing, Job, Mint, Outcome, Skip, decide, guid};
use punctual_store::{Claim, Fence};

use crate::Dispatcher;

/// A claim that is less late than this is fired as it is; one that is later may have been overtaken by
/// newer occurrences of its job.
const LATE: SignedDuration = SignedDuration::from_millis(50);

/// What an attempt came to.
pub(crate) struct Fired {
    pub(crate) fence: Fence,
    pub(crate) attempt: decide::Attempt,
    pub(crate) sku: punctual_model::Sku,
}

/// Makes the attempt of a claim that was begun.
pub(crate) async fn fire(
    claim: Claim,
    dispatcher: &dyn Dispatcher,
    clock: &dyn Clock,
    mint: &dyn Mint,
) -> Fired {
    let started_at = clock.now();
    let Claim { fence, job, region, sku, .. } = claim;
    let (claimed, skips) = newest_due(job, started_at);
    let outcome = match firing(&claimed, region, mint) {
        Some(firing) => fire_safely(&firing, dispatcher).await,
        // An edit took the step away that a pending error action was at.
        None => Outcome { succeeded: false, message: "The action was removed before it could run.".into() },
    };
    // A clock that was set back must not make an attempt end before it began.
    let ended_at = clock.now().max(started_at);
    Fired { fence, attempt: decide::Attempt { claimed, started_at, ended_at, outcome, skips }, sku }
}

/// A panic is a bug, reported when it happens; it must cost its attempt and not the job's future.
async fn fire_safely(firing: &Firing, dispatcher: &dyn Dispatcher) -> Outcome {
    let fired = AssertUnwindSafe(dispatcher.fire(firing)).catch_unwind().await;
    fired.unwrap_or_else(|_| Outcome {
        succeeded: false,
        message: "The attempt ended in an internal error.".into(),
    })
}

/// Where newer occurrences of the job are due as well, the newest is taken.
fn newest_due(job: Job, now: Timestamp) -> (Job, Vec<Skip>) {
    let late = job.progress.entry.is_some_and(|entry| now.duration_since(entry.nominal_at) > LATE);
    match late.then(|| decide::catch_up(&job, now)).flatten() {
        Some((newest, skip)) => (newest, vec![skip]),
        None => (job, Vec::new()),
    }
}

fn firing(job: &Job, region: Arc<str>, mint: &dyn Mint) -> Option<Firing> {
    let entry = job.progress.entry?;
    job.spec.action.step(entry.step)?;
    Some(Firing {
        job: job.key.clone(),
        region,
        spec: Arc::clone(&job.spec),
        step: entry.step,
        attempt: entry.attempt,
        nominal_at: entry.nominal_at,
        tag: ExecutionTag::of(job.id, entry.cause, entry.nominal_at, entry.step),
        client_request_id: guid(mint.random()),
    })
}
