//! The hold on a claim: its owner owns the claim, its slot and its pause of the clock.
//!
//! It moves with the claim and ends in exactly one way: the claim is settled, lost, or given back. Dropping it
//! gives the claim back, wherever that happens: in a queue that is closed, in a task that is aborted, in a
//! panic. Dropped claims are in [`DroppedClaims`] until the machine takes them, frees their slots and has the store
//! release them, with retries until it has.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use punctual_model::{ClockPause, CollectionKey, JobId};
use punctual_store::{BootInstant, Claim, Fence};
use tokio::sync::Notify;

/// A claim with the hold on it.
pub(crate) struct Held {
    pub(crate) claim: Claim,
    pub(crate) hold: Hold,
}

/// Owns a claim. Dropping it gives the claim back.
pub(crate) struct Hold {
    pub(crate) fence: Fence,
    pub(crate) job: JobId,
    /// Under which the claim was made.
    pub(crate) lease: u64,
    /// When the store was asked last whether the claim holds, where leases end.
    pub(crate) begun_at: Option<BootInstant>,
    target: Arc<str>,
    collection: Arc<CollectionKey>,
    /// Whether it has a slot of its target and its collection.
    going: bool,
    /// A fast clock waits for the claim.
    clock_pause: Option<ClockPause>,
    /// None once it has ended.
    dropped_claims: Option<Arc<DroppedClaims>>,
}

impl Held {
    pub(crate) fn new(claim: Claim, lease: u64, dropped_claims: &Arc<DroppedClaims>) -> Self {
        let hold = Hold {
            fence: claim.fence,
            job: claim.job.id,
            lease,
            begun_at: None,
            target: Arc::clone(&claim.target),
            collection: Arc::new(claim.job.key.collection.clone()),
            going: false,
            clock_pause: None,
            dropped_claims: Some(Arc::clone(dropped_claims)),
        };
        Self { claim, hold }
    }
}

impl Hold {
    pub(crate) fn target(&self) -> &Arc<str> {
        &self.target
    }

    pub(crate) fn collection(&self) -> &Arc<CollectionKey> {
        &self.collection
    }

    /// It has a slot of its target and its collection from now on.
    pub(crate) fn go(&mut self) {
        self.going = true;
    }

    /// Its attempt is over; returns whether it had a slot of its target and its collection.
    pub(crate) fn come_back(&mut self) -> bool {
        std::mem::take(&mut self.going)
    }

    /// Replaces its pause of the clock.
    pub(crate) fn set_clock_pause(&mut self, clock_pause: Option<ClockPause>) {
        self.clock_pause = clock_pause;
    }

    pub(crate) fn take_clock_pause(&mut self) -> Option<ClockPause> {
        self.clock_pause.take()
    }

    /// The claim was settled or lost: nothing is left to give back.
    pub(crate) fn end(mut self) -> Option<ClockPause> {
        self.dropped_claims = None;
        self.clock_pause.take()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(dropped_claims) = self.dropped_claims.take() {
            dropped_claims.add(DroppedClaim {
                fence: self.fence,
                job: self.job,
                target: Arc::clone(&self.target),
                collection: Arc::clone(&self.collection),
                going: self.going,
            });
        }
    }
}

/// A claim whose hold was dropped.
pub(crate) struct DroppedClaim {
    pub(crate) fence: Fence,
    pub(crate) job: JobId,
    pub(crate) target: Arc<str>,
    pub(crate) collection: Arc<CollectionKey>,
    pub(crate) going: bool,
}

/// Claims whose hold was dropped, to be given back. It has a lock of its own, so that a hold may be dropped
/// anywhere.
#[derive(Default)]
pub(crate) struct DroppedClaims {
    dropped: Mutex<Vec<DroppedClaim>>,
    any: AtomicBool,
    pub(crate) came: Notify,
}

impl DroppedClaims {
    fn add(&self, returned: DroppedClaim) {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).push(returned);
        self.any.store(true, Ordering::Release);
        self.came.notify_one();
    }

    /// Whether there is any.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    pub(crate) fn take(&self) -> Vec<DroppedClaim> {
        if !self.any.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        std::mem::take(&mut *self.dropped.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
