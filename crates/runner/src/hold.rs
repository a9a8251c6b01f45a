//! The hold on a claim: whoever has it owns the claim, with its slot and with its wait.
//!
//! It moves with the claim from one place to the next and ends in exactly one way: the claim is settled, lost,
//! or given back. Dropping it gives the claim back, wherever that happens: in a queue that is closed, in a task
//! that is aborted, in a panic. What was dropped lies with [`Returns`] until the machine takes it, frees its slot
//! and has it released by the store, again and again until the store has taken it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use punctual_model::{JobId, Wait};
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
    /// Whether it has one of the slots of its target.
    going: bool,
    /// A fast clock waits for the claim.
    wait: Option<Wait>,
    /// None once it has ended.
    returns: Option<Arc<Returns>>,
}

impl Held {
    pub(crate) fn new(claim: Claim, lease: u64, returns: &Arc<Returns>) -> Self {
        let hold = Hold {
            fence: claim.fence,
            job: claim.job.id,
            lease,
            begun_at: None,
            target: Arc::clone(&claim.target),
            going: false,
            wait: None,
            returns: Some(Arc::clone(returns)),
        };
        Self { claim, hold }
    }
}

impl Hold {
    pub(crate) fn target(&self) -> &Arc<str> {
        &self.target
    }

    /// It has a slot of its target from now on.
    pub(crate) fn go(&mut self) {
        self.going = true;
    }

    /// Its attempt is over; whether it had a slot of its target.
    pub(crate) fn come_back(&mut self) -> bool {
        std::mem::take(&mut self.going)
    }

    /// Has the clock wait in place of how it waited before.
    pub(crate) fn set_wait(&mut self, wait: Option<Wait>) {
        self.wait = wait;
    }

    pub(crate) fn take_wait(&mut self) -> Option<Wait> {
        self.wait.take()
    }

    /// The claim was settled or lost: nothing is left to give back.
    pub(crate) fn end(mut self) -> Option<Wait> {
        self.returns = None;
        self.wait.take()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(returns) = self.returns.take() {
            returns.add(Returned {
                fence: self.fence,
                job: self.job,
                target: Arc::clone(&self.target),
                going: self.going,
            });
        }
    }
}

/// A claim whose hold was dropped.
pub(crate) struct Returned {
    pub(crate) fence: Fence,
    pub(crate) job: JobId,
    pub(crate) target: Arc<str>,
    pub(crate) going: bool,
}

/// What was dropped and is to be given back. It has a lock of its own, so that a hold may be dropped wherever it is.
#[derive(Default)]
pub(crate) struct Returns {
    dropped: Mutex<Vec<Returned>>,
    any: AtomicBool,
    pub(crate) came: Notify,
}

impl Returns {
    fn add(&self, returned: Returned) {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).push(returned);
        self.any.store(true, Ordering::Release);
        self.came.notify_one();
    }

    /// Whether something lies here.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    pub(crate) fn take(&self) -> Vec<Returned> {
        if !self.any.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        std::mem::take(&mut *self.dropped.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
