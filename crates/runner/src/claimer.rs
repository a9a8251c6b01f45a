//! Claims what is due soon, as long as there are slots.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_model::Chain;
use punctual_store::{ClaimAsk, Trouble};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::Event;
use crate::runner::Parts;
use crate::timer::Timer;

/// How many entries are claimed at once.
const BATCH_MAX: usize = 1_024;

/// Claiming pays only if there are some slots, one in so many; fewer are waited for. Where there are few in
/// all, each counts: the others may be taken by a target that hangs.
pub(crate) const FREE_WORTH_CLAIMING_ONE_IN: usize = 64;

/// One slot in so many is for what is due already: a herd that is claimed ahead must not keep a run waiting
/// that somebody asks for meanwhile.
const KEPT_FOR_DUE_ONE_IN: usize = 4;

/// The agenda is looked at this often whatever happens, so that a lost wake-up costs a second at most.
const POLL: Duration = Duration::from_secs(1);

/// Wake-ups that come faster are gathered: under load the agenda changes thousands of times a second.
const GATHER: Duration = Duration::from_millis(2);

/// The same while they keep coming. It delays what is to be fired at once and nothing that was claimed ahead.
const GATHER_UNDER_LOAD: Duration = Duration::from_millis(10);

/// What comes into sight, at the far end of what is claimed ahead, is gathered for so much of that time.
const IN_SIGHT_ONE_IN: u32 = 20;

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
                tracing::error!(error = %Chain(&trouble), "could not claim what is due; trying again");
                tokio::select! {
                    () = tokio::time::sleep(TROUBLE_PAUSE) => {}
                    _ = stop.changed() => {}
                }
                continue;
            }
        };
        let claimed_at = Instant::now();
        let (pause, limited) = match next {
            Next::Again => continue,
            Next::WhenSlotsAreFreed => (POLL, true),
            Next::From { at, ahead, limited } => {
                let least = if ahead {
                    parts.settings.look_ahead.unsigned_abs() / IN_SIGHT_ONE_IN
                } else {
                    Duration::ZERO
                };
                (parts.real_wait_until(at).max(least).min(POLL), limited)
            }
        };
        // A clock that stands still until somebody looks is not kept waiting for company.
        let gather = async |time| {
            tokio::select! {
                () = tokio::time::sleep(time) => {}
                () = parts.waits.settled() => {}
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = parts.waits.settled() => {}
            () = parts.slots.freed(), if limited => gather(GATHER).await,
            _ = changes.changed() => {
                let under_load = claimed_at.elapsed() < GATHER_UNDER_LOAD;
                gather(if under_load { GATHER_UNDER_LOAD } else { GATHER }).await;
            }
            _ = stop.changed() => {}
        }
    }
}

enum Next {
    /// There may be more right now.
    Again,
    WhenSlotsAreFreed,
    /// The next entry may be claimed from then on; or nobody knows.
    From {
        at: Option<Timestamp>,
        /// All that could be was claimed ahead.
        ahead: bool,
        /// A slot that is freed would help.
        limited: bool,
    },
}

/// Claims once, and says when it is worth claiming again.
async fn claim(parts: &Parts, timer: &Timer) -> Result<Next, Trouble> {
    let _until_claimed = parts.waits.take_settled();
    let out = parts.slots.crowd_out();
    if !out.is_empty() {
        parts.give_back(&out).await?;
    }
    let free = parts.slots.free();
    let worth_claiming = parts.settings.slots.div_ceil(FREE_WORTH_CLAIMING_ONE_IN);
    if free < worth_claiming {
        return Ok(Next::WhenSlotsAreFreed);
    }
    let free_ahead = free.saturating_sub(parts.settings.slots / KEPT_FOR_DUE_ONE_IN);
    let (ahead, room) = if free_ahead >= worth_claiming {
        (parts.look_ahead(), free_ahead)
    } else {
        (SignedDuration::ZERO, free)
    };
    let until = parts.clock.now().saturating_add(ahead).unwrap_or(Timestamp::MAX);
    let limit = room.min(BATCH_MAX);
    let passed_over = parts.slots.passed_over();
    let ask = ClaimAsk { until, limit, passed_over };
    let claims = parts.store.claim(&ask).await?;
    let count = claims.len();
    parts.slots.take(count);
    parts.waits.begin(&claims);
    claims.iter().for_each(|claim| parts.observer.hear(&Event::Claimed(claim)));
    timer.hold(claims);
    if count == limit {
        return Ok(Next::Again);
    }
    let next_due = parts.store.next_due(&ask.passed_over).await?;
    let at = next_due.and_then(|due_at| due_at.saturating_sub(ahead).ok());
    let ahead = !ahead.is_zero();
    Ok(Next::From { at, ahead, limited: !ahead || !ask.passed_over.is_empty() })
}
