//! What the tests of this crate share.

use std::sync::atomic::{AtomicU64, Ordering};

use punctual_model::RandomSource;

/// A source of numbers that counts, so that tests are repeatable.
#[derive(Debug, Default)]
pub(crate) struct Counting(AtomicU64);

impl RandomSource for Counting {
    fn random(&self) -> u128 {
        let next = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        u128::from(next).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }
}
