//! The real randomness.

use std::sync::{Mutex, PoisonError};

use punctual_model::RandomSource;

/// Draws from the system, in pieces: ids are drawn for every request.
#[derive(Default)]
pub(crate) struct SystemRandom {
    drawn: Mutex<Vec<u128>>,
}

/// How many numbers are drawn at a time.
const PIECE: usize = 64;

impl RandomSource for SystemRandom {
    fn random(&self) -> u128 {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = drawn.pop() {
            return number;
        }
        let mut bytes = [0; PIECE * 16];
        getrandom::fill(&mut bytes).expect("the system has randomness, or nothing is safe");
        let (numbers, _) = bytes.as_chunks();
        drawn.extend(numbers.iter().map(|number| u128::from_ne_bytes(*number)));
        drawn.pop().expect("some were just drawn")
    }
}
