//! The real clock.

use jiff::Timestamp;

/// The time now, of the machine, in the ticks of 100 ns that all our times have.
#[expect(clippy::disallowed_methods, reason = "the one place that owns the real clock")]
pub(crate) fn real_now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_nanosecond(now.as_nanosecond() / 100 * 100).unwrap_or(now)
}
