//! Settles what was fired, in batches, and does not let go of it until it is durable.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use punctual_model::{Chain, Job, Limits, Skip, Sku, decide};
use punctual_store::{Settled, Settlement, Trouble};
use tokio::sync::mpsc::Receiver;

use crate::attempt::Fired;
use crate::runner::Parts;
use crate::{Event, Loss};

/// The largest batch: larger ones are not faster, and hold up the writes of callers.
const BATCH_MAX: usize = 1_000;

/// How long a small batch waits for company. Recording is not what punctuality is about, and a disk that
/// is asked less often leaves more to those who fire. What waits here is fired again if the server is killed.
const LINGER: Duration = Duration::from_millis(5);

/// The same where the clock is fast, and waits for what is fired to be recorded.
const LINGER_OF_A_FAST_CLOCK: Duration = Duration::from_millis(1);

/// A batch of this size does not wait.
const BATCH_WORTH_WRITING: usize = 256;

/// How long to wait before a batch is tried again that the store could not take.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// So many in a row that the store does not take alone are a store in trouble, and not a few records.
const REFUSED_IN_A_ROW_MAX: usize = 8;

/// How many may be set aside that the store does not take while it takes others. With more, it is the store.
const STUCK_MAX: usize = 64;

/// How often is tried again what was set aside.
const STUCK_RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Settles until the channel is closed and empty, and nothing is left that was set aside.
pub(crate) async fn run(parts: Arc<Parts>, mut fired: Receiver<Fired>) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    let mut stuck = Vec::new();
    let linger = if parts.clock.speed() > 1.0 { LINGER_OF_A_FAST_CLOCK } else { LINGER };
    loop {
        tokio::select! {
            count = fired.recv_many(&mut batch, BATCH_MAX) => if count == 0 { break },
            () = tokio::time::sleep(STUCK_RETRY_PAUSE), if !stuck.is_empty() => batch.append(&mut stuck),
        }
        if batch.len() < BATCH_WORTH_WRITING && !fired.is_closed() {
            tokio::time::sleep(linger).await;
            while batch.len() < BATCH_MAX
                && let Ok(more) = fired.try_recv()
            {
                batch.push(more);
            }
        }
        let fences: Vec<_> = batch.iter().map(|fired| fired.fence).collect();
        let room = STUCK_MAX - stuck.len();
        stuck.append(&mut settle_most(&parts, std::mem::take(&mut batch), room).await);
        parts.waits.settle(&fences);
    }
    settle_most(&parts, stuck, 0).await;
}

/// Settles a batch, again and again if the store is in trouble: its claims are held, so nobody else can.
/// Gives back a few, as many as there is room for, that the store does not take although it takes others:
/// one record that it can never take must not keep all others out.
async fn settle_most(parts: &Parts, mut batch: Vec<Fired>, room: usize) -> Vec<Fired> {
    loop {
        let (trouble, rest) = match settle(parts, batch).await {
            Ok(()) => return Vec::new(),
            Err(failed) => failed,
        };
        let count = rest.len();
        tracing::error!(error = %Chain(&trouble), count, "could not record what was fired; trying again");
        tokio::time::sleep(RETRY_PAUSE).await;
        let refused;
        (batch, refused) = settle_each(parts, rest).await;
        if batch.is_empty() && refused.len() <= room {
            for fired in &refused {
                let job = &fired.attempt.claimed.key.name;
                tracing::error!(%job, "the store takes others but not what became of this job; set aside");
            }
            return refused;
        }
        batch.extend(refused);
    }
}

/// Settles one after the other: those that were not tried because too many in a row were refused, and those
/// that were refused.
async fn settle_each(parts: &Parts, batch: Vec<Fired>) -> (Vec<Fired>, Vec<Fired>) {
    let (mut refused, mut in_a_row) = (Vec::new(), 0);
    let mut batch = batch.into_iter();
    while in_a_row < REFUSED_IN_A_ROW_MAX
        && let Some(fired) = batch.next()
    {
        match settle(parts, vec![fired]).await {
            Ok(()) => in_a_row = 0,
            Err((_, rest)) => {
                refused.extend(rest);
                in_a_row += 1;
            }
        }
    }
    (batch.collect(), refused)
}

/// Settles a batch; on trouble gives back what is not recorded.
pub(crate) async fn settle(parts: &Parts, batch: Vec<Fired>) -> Result<(), (Trouble, Vec<Fired>)> {
    let mut open: Vec<(Fired, Option<(Job, Sku)>)> = batch.into_iter().map(|fired| (fired, None)).collect();
    while !open.is_empty() {
        let mut settlements = Vec::with_capacity(open.len());
        open.retain(|(fired, edited)| {
            let decided = settlement_safely(fired, edited.as_ref(), &parts.settings.limits);
            let is_some = decided.is_some();
            settlements.extend(decided);
            is_some
        });
        let skips: Vec<Vec<Skip>> = settlements.iter().map(|settlement| settlement.skips.clone()).collect();
        let answers = match parts.store.settle(settlements).await {
            Ok(answers) => answers,
            Err(trouble) => return Err((trouble, open.into_iter().map(|(fired, _)| fired).collect())),
        };
        let mut again = Vec::new();
        for (((fired, _), answer), skips) in open.into_iter().zip(answers).zip(skips) {
            let (fence, job) = (fired.fence, fired.attempt.claimed.id);
            match answer {
                Settled::Recorded => {
                    parts.observer.hear(&Event::Settled { fence, job });
                    skips.iter().for_each(|skip| parts.observer.hear(&Event::Skipped(skip)));
                }
                // The job was edited while it was in flight: decide on what it is now.
                Settled::Changed(job, sku) => again.push((fired, Some((*job, sku)))),
                Settled::Gone => parts.observer.hear(&Event::Lost { fence, job, loss: Loss::Deleted }),
                Settled::Lost => parts.observer.hear(&Event::Lost { fence, job, loss: Loss::Fenced }),
            }
        }
        open = again;
    }
    Ok(())
}

/// A panic is a bug, reported when it happens; it must cost its job and not all others. The job stays in
/// flight, which the inspector reports, and is fired again after a restart.
fn settlement_safely(fired: &Fired, edited: Option<&(Job, Sku)>, limits: &Limits) -> Option<Settlement> {
    let decided = catch_unwind(AssertUnwindSafe(|| settlement(fired, edited, limits))).ok();
    if decided.is_none() {
        tracing::error!(job = %fired.attempt.claimed.key.name, "an internal error kept an attempt from being settled");
    }
    decided
}

fn settlement(fired: &Fired, edited: Option<&(Job, Sku)>, limits: &Limits) -> Settlement {
    let (current, sku) = match edited {
        None => (&fired.attempt.claimed, fired.sku),
        Some((job, sku)) => (job, *sku),
    };
    let verdict = decide::settle(&fired.attempt, current, limits.of(sku));
    Settlement { fence: fired.fence, job: verdict.job, records: verdict.records, skips: verdict.skips }
}
