//! How many connections callers have, for `/doctor`. Whoever serves connections counts here.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How many connections callers have.
#[derive(Debug, Default)]
pub struct Traffic {
    open_count: AtomicUsize,
    max: AtomicUsize,
    refused_count: AtomicU64,
}

impl Traffic {
    /// How many may be open at once.
    pub fn max(&self) -> usize {
        self.max.load(Ordering::Relaxed)
    }

    /// Says how many may be open at once.
    pub fn set_max(&self, max: usize) {
        self.max.store(max, Ordering::Relaxed);
    }

    /// How many are open now.
    pub fn open_count(&self) -> usize {
        self.open_count.load(Ordering::Relaxed)
    }

    /// Says how many are open now.
    pub fn set_open(&self, count: usize) {
        self.open_count.store(count, Ordering::Relaxed);
    }

    /// How many were closed since the start because there were too many.
    pub fn refused_count(&self) -> u64 {
        self.refused_count.load(Ordering::Relaxed)
    }

    /// Counts one that was closed because there were too many.
    pub fn count_refused(&self) {
        self.refused_count.fetch_add(1, Ordering::Relaxed);
    }
}
