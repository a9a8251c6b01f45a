//! The log of what the runner does: one line for each attempt.
//!
//! A line has the job, the execution tag and the request id that the target saw, how the attempt ended in a
//! word, and how late it began. It has no URL, header or body.

use jiff::SignedDuration;
use punctual_model::Outcome;

use crate::observer::{Attempting, Event, Loss, Observer};

/// Logs events: failed attempts at `info`, other attempts at `debug`, everything else at `trace`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log;

impl Observer for Log {
    fn hear(&self, event: &Event<'_>) {
        match event {
            Event::Ended { attempt, outcome, took } => attempt_ended(attempt, outcome, *took),
            Event::Claimed(claim) => tracing::trace!(job = claim.job.id.0, fence = claim.fence.0, "claimed"),
            Event::Begun(claim) => tracing::trace!(job = claim.job.id.0, fence = claim.fence.0, "begun"),
            Event::Fired(attempt) => {
                tracing::trace!(job = attempt.job.id.0, tag = %attempt.firing.tag, "fired");
            }
            Event::Settled { fence, job } => tracing::trace!(job = job.0, fence = fence.0, "settled"),
            Event::Skipped(skip) => {
                let (count, reason) = (skip.count, skip.reason);
                tracing::debug!(job = skip.job.0, count, ?reason, first = %skip.first_at, "occurrences were skipped");
            }
            Event::GivenBack { fence, job } => {
                tracing::trace!(job = job.0, fence = fence.0, "given back");
            }
            Event::Lost { fence, job, loss: Loss::Fenced } => {
                tracing::warn!(job = job.0, fence = fence.0, "an attempt was settled by somebody else");
            }
            Event::Lost { fence, job, loss } => {
                tracing::trace!(job = job.0, fence = fence.0, ?loss, "lost");
            }
            Event::Batch { size, took, recorded } => {
                tracing::trace!(
                    size,
                    took_ms = took.as_secs_f64() * 1_000.0,
                    recorded,
                    "a batch was recorded"
                );
            }
        }
    }
}

/// Expands to one line at a level. A level is part of a call site, so it can't be an argument.
macro_rules! line {
    ($level:ident, $attempt:ident, $outcome:ident, $took:ident, $text:literal) => {{
        let (key, firing) = (&$attempt.job.key, $attempt.firing);
        tracing::$level!(
            job = $attempt.job.id.0,
            name = %format_args!("{}/{}", key.collection.name, key.name),
            tag = %firing.tag,
            request = firing.client_request_id,
            step = firing.step,
            attempt = firing.attempt,
            outcome = if $outcome.succeeded { "succeeded" } else { "failed" },
            kind = %$outcome.kind,
            late_ms = millis($attempt.lateness),
            took_ms = millis($took),
            $text
        )
    }};
}

fn attempt_ended(attempt: &Attempting<'_>, outcome: &Outcome, took: SignedDuration) {
    if outcome.succeeded {
        line!(debug, attempt, outcome, took, "an attempt succeeded");
    } else {
        line!(info, attempt, outcome, took, "an attempt failed");
    }
}

/// Milliseconds, to the microsecond.
#[expect(clippy::cast_precision_loss, reason = "for people")]
fn millis(duration: SignedDuration) -> f64 {
    duration.as_micros() as f64 / 1_000.0
}
