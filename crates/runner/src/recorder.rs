//! Settles what was fired, in batches, and does not let go of it until it is durable.

use std::sync::Arc;
use std::time::Duration;

use punctual_model::{Job, Sku, decide};
use punctual_store::{Settled, Settlement, Store, Trouble};
use tokio::sync::mpsc::Receiver;

use crate::attempt::Fired;
use crate::runner::Parts;

/// The largest batch: larger ones are not faster, and hold up the writes of callers.
const BATCH_MAX: usize = 1_000;

/// How long a small batch waits for company. Recording is not what punctuality is about, and a disk that
/// is asked less often answers faster.
const LINGER: Duration = Duration::from_millis(2);

/// A batch of this size does not wait.
const BATCH_WORTH_WRITING: usize = 64;

/// How long to wait before a batch is tried again that the store could not take.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Settles until the channel is closed and empty.
pub(crate) async fn run(parts: Arc<Parts>, mut fired: Receiver<Fired>) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while fired.recv_many(&mut batch, BATCH_MAX).await > 0 {
        if batch.len() < BATCH_WORTH_WRITING && !fired.is_closed() {
            tokio::time::sleep(LINGER).await;
            while batch.len() < BATCH_MAX
                && let Ok(more) = fired.try_recv()
            {
                batch.push(more);
            }
        }
        let fences: Vec<_> = batch.iter().map(|fired| fired.fence).collect();
        settle_surely(parts.store.as_ref(), std::mem::take(&mut batch)).await;
        parts.waits.settle(&fences);
    }
}

/// Settles a batch, again and again if the store is in trouble: its claims are held, so nobody else can.
async fn settle_surely(store: &dyn Store, mut batch: Vec<Fired>) {
    loop {
        match settle(store, batch).await {
            Ok(()) => return,
            Err((trouble, rest)) => {
                tracing::error!(error = %trouble, count = rest.len(), "could not record what was fired; trying again");
                batch = rest;
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
}

/// Settles a batch; on trouble gives back what is not recorded.
pub(crate) async fn settle(store: &dyn Store, batch: Vec<Fired>) -> Result<(), (Trouble, Vec<Fired>)> {
    let mut open: Vec<(Fired, Option<(Job, Sku)>)> = batch.into_iter().map(|fired| (fired, None)).collect();
    while !open.is_empty() {
        let settlements = open.iter().map(|(fired, edited)| settlement(fired, edited.as_ref())).collect();
        let answers = match store.settle(settlements).await {
            Ok(answers) => answers,
            Err(trouble) => return Err((trouble, open.into_iter().map(|(fired, _)| fired).collect())),
        };
        let mut again = Vec::new();
        for ((fired, _), answer) in open.into_iter().zip(answers) {
            match answer {
                Settled::Recorded | Settled::Gone => {}
                // The job was edited while it was in flight: decide on what it is now.
                Settled::Changed(job, sku) => again.push((fired, Some((*job, sku)))),
                Settled::Lost => {
                    tracing::warn!(job = %fired.attempt.claimed.key.name, "an attempt was settled by somebody else");
                }
            }
        }
        open = again;
    }
    Ok(())
}

fn settlement(fired: &Fired, edited: Option<&(Job, Sku)>) -> Settlement {
    let (current, sku) = match edited {
        None => (&fired.attempt.claimed, fired.sku),
        Some((job, sku)) => (job, *sku),
    };
    let verdict = decide::settle(&fired.attempt, current, sku);
    Settlement { fence: fired.fence, job: verdict.job, records: verdict.records, skips: verdict.skips }
}
