//! The timer's lane: holds claims until their exact time, on a thread of its own.
//!
//! The timer of the async runtime rounds up to the next millisecond; a thread that waits on a condition is
//! exact to some ten microseconds. Waits are bounded and always compared with the clock, so a clock that is set
//! back makes nothing early, and one that is set forward delays nothing for longer than that bound.

use std::sync::PoisonError;
use std::time::Duration;

use jiff::SignedDuration;

use crate::context::RunnerContext;

/// What it is called.
pub(crate) const NAME: &str = "timer";

/// The longest wait, however far the next due time is: the clock may be set meanwhile.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// Hands on what is due until the runner stops.
pub(crate) fn run(context: &RunnerContext) {
    let mut machine = context.machine();
    while !machine.stopping() {
        let next = machine.timer();
        let wakes = machine.take_wakes();
        if wakes != crate::machine::Wakes::default() {
            drop(machine);
            context.signals.wake(wakes);
            machine = context.machine();
            continue;
        }
        let wait = next.map_or(WAIT_MAX, |next| {
            real_wait(next.duration_since(context.clock.now()), context.clock.speed())
        });
        machine = match context.signals.timer_thread.wait_timeout(machine, wait) {
            Ok((machine, _)) => machine,
            Err(poisoned) => PoisonError::into_inner(poisoned).0,
        };
    }
}

/// The real time for a duration of the schedule's clock.
fn real_wait(distance: SignedDuration, speed: f64) -> Duration {
    let seconds = (distance.as_secs_f64() / speed).clamp(0.0, WAIT_MAX.as_secs_f64());
    // At least a little, so that rounding can't make this a busy loop; nor a fast clock that stands still.
    let least = if speed > 1.0 { Duration::from_micros(200) } else { Duration::from_micros(10) };
    Duration::from_secs_f64(seconds).max(least)
}
