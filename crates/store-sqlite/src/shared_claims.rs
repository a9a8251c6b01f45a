//! The claims, shared by the writer thread and the callers that begin and ask.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punctual_model::JobId;
use punctual_store::claims::Claims;
use punctual_store::{Claim, Fence};
use tokio::sync::watch;

/// The claims, and the signal that the agenda has changed.
pub(crate) struct SharedClaims {
    claims: Mutex<Claims>,
    /// Claims were given back without the writer thread: its window lacks their entries.
    given_back: AtomicBool,
    changes: watch::Sender<u64>,
}

impl SharedClaims {
    pub(crate) fn new(first_fence: u64) -> Self {
        Self {
            claims: Mutex::new(Claims::new(first_fence)),
            given_back: AtomicBool::new(false),
            changes: watch::Sender::new(0),
        }
    }

    /// The claims are consistent whenever nobody holds their lock, so a poisoned lock can be used.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wake(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Whether the agenda must be read from its start again; resets the flag.
    pub(crate) fn take_given_back(&self) -> bool {
        self.given_back.swap(false, Ordering::AcqRel)
    }
}

/// Claims on their way to the caller that asked for them. If the caller does not wait any more they are given
/// back, so that it leaves no job claimed forever.
pub(crate) struct ClaimDelivery {
    shared_claims: Arc<SharedClaims>,
    chosen: Vec<(Fence, JobId)>,
}

impl ClaimDelivery {
    pub(crate) fn new(shared_claims: Arc<SharedClaims>, chosen: Vec<(Fence, JobId)>) -> Self {
        Self { shared_claims, chosen }
    }

    pub(crate) fn chosen(&self) -> &[(Fence, JobId)] {
        &self.chosen
    }

    /// The claims that were loaded and still hold belong to the caller now; the others are given back.
    pub(crate) fn deliver(mut self, claims: &mut Vec<Claim>) {
        let held = self.shared_claims.lock();
        claims.retain(|claim| held.job(claim.fence).is_some());
        drop(held);
        if claims.len() == self.chosen.len() {
            self.chosen.clear();
        } else {
            let delivered: HashSet<Fence> = claims.iter().map(|claim| claim.fence).collect();
            self.chosen.retain(|(fence, _)| !delivered.contains(fence));
        }
    }
}

impl Drop for ClaimDelivery {
    fn drop(&mut self) {
        if self.chosen.is_empty() {
            return;
        }
        let ended = {
            let mut claims = self.shared_claims.lock();
            self.chosen.iter().filter(|(fence, _)| claims.end(*fence).is_some()).count()
        };
        // Nobody waits for claims that an edit took back, or that are left out.
        if ended > 0 {
            self.shared_claims.given_back.store(true, Ordering::Release);
            self.shared_claims.wake();
        }
    }
}
