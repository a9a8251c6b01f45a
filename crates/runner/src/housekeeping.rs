//! Deletes what is too old, in small pieces, so that it never delays a firing.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_model::Chain;
use punctual_store::{HOURS_KEPT, MINUTES_KEPT, Trouble};
use tokio::sync::watch;

use crate::context::RunnerContext;

/// How often to look.
const PERIOD: Duration = Duration::from_secs(60);

/// The number of rows that are deleted at once.
const PIECE: usize = 500;

/// The pause between two pieces.
const BREATH: Duration = Duration::from_millis(100);

/// Runs until it is told to stop.
pub(crate) async fn run(context: Arc<RunnerContext>, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        // One node keeps house for all.
        let cleaned = if context.standing().first() { clean(&context).await } else { Ok(false) };
        let pause = match cleaned {
            Ok(true) => BREATH,
            Ok(false) => PERIOD,
            Err(trouble) if trouble.outage().is_some() => PERIOD,
            Err(trouble) => {
                tracing::warn!(error = %Chain(&trouble), "could not let go of old history; trying again later");
                PERIOD
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.changed() => {}
        }
    }
}

/// Deletes one piece of each kind; returns whether there may be more.
pub(crate) async fn clean(context: &RunnerContext) -> Result<bool, Trouble> {
    let now = context.clock.now();
    let now = match context.clock.watch() {
        Some(watch) => watch.time_for_housekeeping(now),
        None => Some(now),
    };
    let Some(now) = now else { return Ok(false) };
    let Ok(before) = now.checked_sub(context.settings.retention) else { return Ok(false) };
    let pruned = context.store.prune(before, PIECE).await?;
    let purged = context.store.purge(before, PIECE).await?;
    let keep = context.settings.records_per_job_max;
    let capped = if keep > 0 { context.store.prune_to(keep, PIECE).await? } else { 0 };
    let rolled = roll_up_stats(context, now).await?;
    Ok([pruned, purged, capped, rolled].into_iter().any(|count| count >= PIECE))
}

/// Makes hours of old statistics by the minute, and deletes old hours.
async fn roll_up_stats(context: &RunnerContext, now: Timestamp) -> Result<usize, Trouble> {
    let before = |kept: SignedDuration| now.checked_sub(kept).unwrap_or(Timestamp::MIN);
    context.store.roll_up_stats(before(MINUTES_KEPT), before(HOURS_KEPT), PIECE).await
}
