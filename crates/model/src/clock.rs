//! Time and randomness as arguments.

use jiff::Timestamp;

use crate::{ClockWatch, hex};

/// Tells the time. The clock of schedules may be virtual; the one for timeouts never is.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// How many seconds this clock advances in a real second.
    fn speed(&self) -> f64 {
        1.0
    }

    /// Asks the clock not to go past an instant until the returned guard is dropped. The real clock ignores
    /// this, and no clock waits forever.
    fn pause_at(&self, _: Timestamp) -> Option<ClockPause> {
        None
    }

    /// The watch that compares this clock with the time since the machine was started. None for a virtual
    /// clock, which is independent of both.
    fn watch(&self) -> Option<&ClockWatch> {
        None
    }
}

/// The clock does not go past an instant until this guard is dropped.
pub type ClockPause = Box<dyn Send>;

/// A source of random numbers, of which no two are equal.
pub trait RandomSource: Send + Sync {
    /// A random 128-bit number.
    fn random(&self) -> u128;
}

/// A random GUID in the usual spelling.
pub fn guid(random: u128) -> String {
    // Version 4, variant 1, as RFC 9562 lays them out.
    let bits = random & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let mut text = String::with_capacity(36);
    for (place, byte) in bits.to_be_bytes().into_iter().enumerate() {
        if [4, 6, 8, 10].contains(&place) {
            text.push('-');
        }
        hex::push(byte, &mut text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guid_has_version_and_variant() {
        assert_eq!(guid(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(guid(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
