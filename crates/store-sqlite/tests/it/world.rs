//! Stores for the tests.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use punctual_model::RandomSource;
use punctual_store::{KeyRing, Vault};
use punctual_store_sqlite::{Options, SqliteStore, Synchronous};

/// Randomness that counts, so that tests repeat.
#[derive(Default)]
pub(crate) struct Counting(AtomicU64);

impl Counting {
    /// Leaves out some, so that what follows is something else.
    pub(crate) fn skip(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }
}

impl RandomSource for Counting {
    fn random(&self) -> u128 {
        let next = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        u128::from(next).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }
}

pub(crate) fn ring() -> KeyRing {
    KeyRing::generate(&Counting::default())
}

pub(crate) fn options(dir: &Path, ring: &KeyRing) -> Options {
    let mut options = Options::new(dir, Arc::new(Vault::new(ring)), Arc::new(Counting::default()));
    options.synchronous = Synchronous::Off;
    options
}

pub(crate) fn open(dir: &Path) -> SqliteStore {
    SqliteStore::open(options(dir, &ring())).unwrap()
}
