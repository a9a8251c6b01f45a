//! Claims what is due soon, as long as there are slots.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use punctual_store::{ClaimAsk, Trouble};
use tokio::sync::watch;

use crate::runner::Parts;
use crate::timer::Timer;

/// How many entries are claimed at once.
const BATCH_MAX: usize = 1_024;

/// Claiming pays only if there are some slots, one in so many; fewer are waited for. Where there are few in
/// all, each counts: the others may be taken by a target that hangs.
pub(crate) const FREE_WORTH_CLAIMING_ONE_IN: usize = 64;

/// The agenda is looked at this often whatever happens, so that a lost wake-up costs a second at most.
const POLL: Duration = Duration::from_secs(1);

/// Wake-ups that come faster are gathered: under load the agenda changes thousands of times a second.
const GATHER: Duration = Duration::from_millis(2);

/// How long to wait when the store is in trouble.
const TROUBLE_PAUSE: Duration = Duration::from_millis(200);

/// Claims until it is told to stop.
pub(crate) async fn run(parts: Arc<Parts>, timer: &Timer, mut stop: watch::Receiver<bool>) {
    let mut changes = parts.store.changes();
    while !*stop.borrow() {
        changes.mark_unchanged();
        let next = match claim(&parts, timer).await {
            Ok(next) => next,
            Err(trouble) => {
                tracing::error!(error = %trouble, "could not claim what is due; trying again");
                tokio::select! {
                    () = tokio::time::sleep(TROUBLE_PAUSE) => {}
                    _ = stop.changed() => {}
                }
                continue;
            }
        };
        let pause = match next {
            Next::Again => continue,
            Next::WhenSlotsAreFreed => POLL,
            Next::At(due_at) => parts.real_wait_until(due_at).min(POLL),
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = parts.waits.settled() => {}
            () = parts.slots.freed() => tokio::time::sleep(GATHER).await,
            _ = changes.changed() => tokio::time::sleep(GATHER).await,
            _ = stop.changed() => {}
        }
    }
}

enum Next {
    /// There may be more right now.
    Again,
    WhenSlotsAreFreed,
    /// The next entry is due then; or nobody knows.
    At(Option<Timestamp>),
}

/// Claims once, and says when it is worth claiming again.
async fn claim(parts: &Parts, timer: &Timer) -> Result<Next, Trouble> {
    let _until_claimed = parts.waits.take_settled();
    let out = parts.slots.crowd_out();
    if !out.is_empty() {
        let fences: Vec<_> = out.iter().map(|claim| claim.fence).collect();
        parts.waits.end(&fences);
        parts.store.release(&fences).await?;
    }
    let free = parts.slots.free();
    if free < parts.settings.slots.div_ceil(FREE_WORTH_CLAIMING_ONE_IN) {
        return Ok(Next::WhenSlotsAreFreed);
    }
    let now = parts.clock.now();
    let until = now.saturating_add(parts.look_ahead()).unwrap_or(Timestamp::MAX);
    let limit = free.min(BATCH_MAX);
    let passed_over = parts.slots.passed_over();
    let ask = ClaimAsk { until, limit, passed_over };
    let claims = parts.store.claim(&ask).await?;
    let count = claims.len();
    parts.slots.take(count);
    parts.waits.begin(&claims);
    timer.hold(claims);
    if count == limit {
        return Ok(Next::Again);
    }
    Ok(Next::At(parts.store.next_due(&ask.passed_over).await?))
}
