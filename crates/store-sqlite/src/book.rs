//! The claims, shared by the writer thread and whoever begins and asks.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punctual_model::JobId;
use punctual_store::claims::Claims;
use punctual_store::{Claim, Fence};
use tokio::sync::watch;

/// Who holds what, and the signal that somebody should look again.
pub(crate) struct Book {
    claims: Mutex<Claims>,
    /// Claims were given back behind the back of the writer thread: its window lacks their entries.
    given_back: AtomicBool,
    changes: watch::Sender<u64>,
}

impl Book {
    pub(crate) fn new(first_fence: u64) -> Self {
        Self {
            claims: Mutex::new(Claims::new(first_fence)),
            given_back: AtomicBool::new(false),
            changes: watch::Sender::new(0),
        }
    }

    /// The claims are whole whenever nobody holds their lock, so a poisoned lock is as good as another.
    pub(crate) fn claims(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wake(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Whether the agenda must be read from its beginning; asked once.
    pub(crate) fn take_given_back(&self) -> bool {
        self.given_back.swap(false, Ordering::AcqRel)
    }
}

/// Claims on their way to whoever asked for them. If nobody waits any more they are given back, so that
/// a caller that went away leaves no job claimed for ever.
pub(crate) struct Parcel {
    book: Arc<Book>,
    chosen: Vec<(Fence, JobId)>,
}

impl Parcel {
    pub(crate) fn new(book: Arc<Book>, chosen: Vec<(Fence, JobId)>) -> Self {
        Self { book, chosen }
    }

    pub(crate) fn chosen(&self) -> &[(Fence, JobId)] {
        &self.chosen
    }

    /// Those that were loaded and still hold are the caller's now; the others are given back.
    pub(crate) fn deliver(mut self, claims: &mut Vec<Claim>) {
        let held = self.book.claims();
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

impl Drop for Parcel {
    fn drop(&mut self) {
        if self.chosen.is_empty() {
            return;
        }
        let ended = {
            let mut claims = self.book.claims();
            self.chosen.iter().filter(|(fence, _)| claims.end(*fence).is_some()).count()
        };
        // What an edit took back, or what is left out, has nobody who waits for it.
        if ended > 0 {
            self.book.given_back.store(true, Ordering::Release);
            self.book.wake();
        }
    }
}
