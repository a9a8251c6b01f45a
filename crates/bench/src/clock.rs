//! The clocks of the bench.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// For durations.
#[expect(clippy::disallowed_methods, reason = "this measures")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Nanoseconds since 1970, by the clock that the schedules of the server follow.
#[expect(clippy::disallowed_methods, reason = "lateness is measured against the machine's clock")]
pub(crate) fn wall_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// An instant of [`wall_nanos`] as the API writes it. It must be a whole number of ticks of 100 ns.
pub(crate) fn text(nanos: u64) -> String {
    Timestamp::from_nanosecond(i128::from(nanos)).unwrap_or(Timestamp::MAX).to_string()
}

/// The date, for the results.
pub(crate) fn date() -> String {
    text(wall_nanos()).chars().take(10).collect()
}

/// Sleeps: the process under test sends no notifications.
#[expect(clippy::disallowed_methods, reason = "there is no signal to wait for")]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Polls until `done` or the limit; whether it was done.
pub(crate) fn wait(limit: Duration, step: Duration, mut done: impl FnMut() -> bool) -> bool {
    let since = now();
    while since.elapsed() < limit {
        if done() {
            return true;
        }
        pause(step);
    }
    done()
}
