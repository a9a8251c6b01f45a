//! Time and randomness as arguments.

use jiff::Timestamp;

/// Tells the time. The schedule's clock may be virtual; the one for time-outs never is.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// How many seconds it goes in a real one.
    fn speed(&self) -> f64 {
        1.0
    }

    /// Asks the clock not to go past an instant as long as this is kept. The real one never listens, and none
    /// waits for ever.
    fn wait_at(&self, _: Timestamp) -> Option<Wait> {
        None
    }
}

/// A clock waits at an instant as long as this is kept.
pub type Wait = Box<dyn Send>;

/// Makes what must not repeat.
pub trait Mint: Send + Sync {
    /// A random 128-bit number.
    fn random(&self) -> u128;
}

/// A random GUID in the usual spelling.
pub fn guid(random: u128) -> String {
    // Version 4, variant 1, as RFC 9562 lays them out.
    let bits = random & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
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
