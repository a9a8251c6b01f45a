//! Has a fast clock wait for what is due.
//!
//! From the moment that an entry is claimed the clock does not go past the next occurrence of its job, until
//! it is settled and the claimer has seen what came of it. So a month in a minute has the occurrences of a month,
//! however long a request takes. A clock that waits for nobody costs nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::SignedDuration;
use punctual_model::{Clock, Wait, decide};
use punctual_store::{Claim, Fence};
use tokio::sync::Notify;

/// The clock stops this long before an occurrence, where that is not due yet.
const TICK: SignedDuration = SignedDuration::from_nanos(100);

/// What the clock was asked to wait for.
pub(crate) struct Waits {
    clock: Arc<dyn Clock>,
    kept: Mutex<Kept>,
    settled: Notify,
}

#[derive(Default)]
struct Kept {
    under_way: HashMap<Fence, Wait>,
    settled: Vec<Wait>,
}

impl Waits {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, kept: Mutex::default(), settled: Notify::new() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the clock is one that may wait: most are not.
    fn matter(&self) -> bool {
        self.clock.speed() > 1.0
    }

    /// These claims were made, or are due: then the patience of the clock begins anew.
    pub(crate) fn begin(&self, claims: &[Claim]) {
        if !self.matter() {
            return;
        }
        for claim in claims {
            // Behind the entry and not behind now: the clock may stand before that next one already.
            let due_at = claim.job.progress.entry.map(|entry| entry.due_at);
            let next = due_at.and_then(|due_at| decide::occurrence_after(&claim.job, due_at));
            let before_it = next.and_then(|next| next.checked_sub(TICK).ok());
            let Some(wait) = before_it.and_then(|at| self.clock.wait_at(at)) else { continue };
            let before = self.kept().under_way.insert(claim.fence, wait);
            drop(before);
        }
    }

    /// These claims are given back, or did not hold.
    pub(crate) fn end(&self, fences: &[Fence]) {
        if !self.matter() {
            return;
        }
        let mut kept = self.kept();
        let ended: Vec<_> = fences.iter().filter_map(|fence| kept.under_way.remove(fence)).collect();
        drop(kept);
        drop(ended);
    }

    /// These claims are settled; the claimer should look what came of them.
    pub(crate) fn settle(&self, fences: &[Fence]) {
        if !self.matter() {
            return;
        }
        let mut kept = self.kept();
        for fence in fences {
            let wait = kept.under_way.remove(fence);
            kept.settled.extend(wait);
        }
        drop(kept);
        self.settled.notify_one();
    }

    /// The waits for what was settled before now. To be kept until what came of it is claimed.
    pub(crate) fn take_settled(&self) -> Vec<Wait> {
        if self.matter() { std::mem::take(&mut self.kept().settled) } else { Vec::new() }
    }

    /// Waits until something was settled since the last call.
    pub(crate) async fn settled(&self) {
        self.settled.notified().await;
    }
}
