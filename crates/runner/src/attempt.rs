//! One attempt: from a confirmed claim to what the recorder needs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use punctual_model::{
    Entry, ExecutionTag, Firing, Go, Job, Outcome, OutcomeKind, RandomSource, Skip, Sku, decide, guid,
};
use punctual_store::Claim;

use crate::context::RunnerContext;
use crate::hold::{Held, Hold};
use crate::observer::{Attempting, Event};
use crate::{launcher, permission};

/// A claim that is late by less than this is fired as it is; if it is later, newer occurrences of its job may
/// be due.
const LATE: SignedDuration = SignedDuration::from_millis(50);

/// A finished attempt.
pub(crate) struct Fired {
    pub(crate) hold: Hold,
    pub(crate) attempt: decide::Attempt,
    pub(crate) sku: Sku,
}

/// Makes an attempt, and then those that wait for the same target: the connection is open.
pub(crate) async fn run(context: Arc<RunnerContext>, held: Held) {
    let mut next = Some(held);
    while let Some(held) = next {
        next = one(&context, held).await;
    }
}

/// Makes one attempt and passes it to the recorder; returns the next of its target, if one waits and may go.
pub(crate) async fn one(context: &Arc<RunnerContext>, held: Held) -> Option<Held> {
    // What may not be sent any more is dropped, and so given back.
    let fired = fire(context, held).await?;
    let next = context.with(|machine, uptime| machine.attempted(fired, uptime))?;
    launcher::begin(context, vec![next]).await.pop()
}

/// Makes the attempt of a begun claim. A panic in it is a bug, reported when it happens; it must cost only this
/// attempt and not the future of the job.
async fn fire(context: &Arc<RunnerContext>, held: Held) -> Option<Fired> {
    let started_at = context.clock.now();
    let Held { claim, hold } = held;
    let Claim { job, region, sku, .. } = claim;
    let newest = catch_unwind(AssertUnwindSafe(|| newest_due(&job, started_at)));
    let in_order = newest.is_ok();
    let (claimed, skips) = match newest.unwrap_or_default() {
        Some((newest, skips)) => (newest, skips),
        None => (job, Vec::new()),
    };
    let outcome = match claimed.progress.entry.filter(|_| in_order) {
        Some(entry) => {
            let firing = firing(&claimed, entry, region, context.random.as_ref());
            let lateness = started_at.duration_since(entry.due_at);
            let go = permission::of(context, &hold);
            attempt(Attempting { job: &claimed, firing: &firing, lateness }, &go, started_at, context).await?
        }
        None => internal_error(),
    };
    // A clock that was set back must not make an attempt end before it began.
    let ended_at = context.clock.now().max(started_at);
    Some(Fired { hold, attempt: decide::Attempt { claimed, started_at, ended_at, outcome, skips }, sku })
}

/// Has it carried out; none if it was not, because it may not be sent any more.
async fn attempt(
    attempt: Attempting<'_>,
    go: &Go,
    started_at: Timestamp,
    context: &RunnerContext,
) -> Option<Outcome> {
    context.observer.hear(&Event::Fired(attempt));
    let outcome = if attempt.firing.action().is_some() {
        let fired = AssertUnwindSafe(context.dispatcher.fire(attempt.firing, go)).catch_unwind().await;
        fired.unwrap_or_else(|_| Some(internal_error()))?
    } else {
        // An edit removed the step of a pending error action.
        Outcome {
            succeeded: false,
            kind: OutcomeKind::Word("ActionRemoved"),
            message: "The action was removed before it could run.".into(),
        }
    };
    let took = context.clock.now().duration_since(started_at);
    context.observer.hear(&Event::Ended { attempt, outcome: &outcome, took });
    Some(outcome)
}

fn internal_error() -> Outcome {
    Outcome {
        succeeded: false,
        kind: OutcomeKind::Word("InternalError"),
        message: "The attempt ended in an internal error.".into(),
    }
}

/// If newer occurrences of the job are due as well, takes the newest.
fn newest_due(job: &Job, now: Timestamp) -> Option<(Job, Vec<Skip>)> {
    let late = job.progress.entry.is_some_and(|entry| now.duration_since(entry.nominal_at) > LATE);
    late.then(|| decide::catch_up(job, now)).flatten()
}

fn firing(job: &Job, entry: Entry, region: Arc<str>, random: &dyn RandomSource) -> Firing {
    Firing {
        job: job.key.clone(),
        region,
        spec: Arc::clone(&job.spec),
        step: entry.step,
        attempt: entry.attempt,
        nominal_at: entry.nominal_at,
        tag: ExecutionTag::of(job.id, entry.cause, entry.nominal_at, entry.step),
        client_request_id: guid(random.random()),
    }
}
