//! Holds claims until their exact time, in a thread of its own.
//!
//! The async runtime's timer rounds up to the next millisecond; a thread that waits on a condition is
//! exact to some ten microseconds. Waits are bounded and what is due is always asked of the clock, so a
//! clock that is set back makes nothing early, and one that is set forward delays nothing for longer
//! than that bound.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_model::Clock;
use punctual_store::Claim;
use tokio::sync::mpsc::UnboundedSender;

use crate::waits::Waits;

/// No wait is longer, however far the next due time is: the clock may have been set meanwhile.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// The thread and what it holds.
pub(crate) struct Timer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    held: Mutex<Held>,
    changed: Condvar,
}

#[derive(Default)]
struct Held {
    /// In the order of due times, then of arrival.
    claims: BTreeMap<Timestamp, Vec<Claim>>,
    stopped: bool,
}

impl Timer {
    /// Starts the thread. What is due is sent in batches; the channel's length is bounded by the number
    /// of slots.
    pub(crate) fn start(
        clock: Arc<dyn Clock>,
        waits: Arc<Waits>,
        due: UnboundedSender<Vec<Claim>>,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared { held: Mutex::default(), changed: Condvar::new() });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("punctual-timer".into())
            .spawn(move || for_thread.run(clock.as_ref(), &waits, &due))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Holds claims until they are due.
    pub(crate) fn hold(&self, claims: impl IntoIterator<Item = Claim>) {
        let mut held = self.shared.held();
        for claim in claims {
            let due_at = claim.job.progress.entry.map_or(Timestamp::MIN, |entry| entry.due_at);
            held.claims.entry(due_at).or_default().push(claim);
        }
        drop(held);
        self.shared.changed.notify_one();
    }

    /// Stops the thread and gives back what it held.
    pub(crate) fn stop(mut self) -> Vec<Claim> {
        let mut held = self.shared.held();
        held.stopped = true;
        let claims = std::mem::take(&mut held.claims);
        drop(held);
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
        claims.into_values().flatten().collect()
    }
}

impl Shared {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, clock: &dyn Clock, waits: &Waits, due: &UnboundedSender<Vec<Claim>>) {
        let mut held = self.held();
        while !held.stopped {
            let now = clock.now();
            let ready = held.take_due(now);
            if !ready.is_empty() {
                drop(held);
                waits.begin(&ready);
                if due.send(ready).is_err() {
                    return;
                }
                held = self.held();
                continue;
            }
            let wait =
                held.next_due().map_or(WAIT_MAX, |next| real_wait(next.duration_since(now), clock.speed()));
            held = match self.changed.wait_timeout(held, wait) {
                Ok((held, _)) => held,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }
}

impl Held {
    fn next_due(&self) -> Option<Timestamp> {
        self.claims.first_key_value().map(|(due_at, _)| *due_at)
    }

    fn take_due(&mut self, now: Timestamp) -> Vec<Claim> {
        let mut ready = Vec::new();
        while let Some(first) = self.claims.first_entry() {
            if *first.key() > now {
                break;
            }
            let mut claims = first.remove();
            if ready.is_empty() {
                ready = claims;
            } else {
                ready.append(&mut claims);
            }
        }
        ready
    }
}

/// How long to wait really for a distance of the schedule's time.
fn real_wait(distance: SignedDuration, speed: f64) -> Duration {
    let seconds = (distance.as_secs_f64() / speed).clamp(0.0, WAIT_MAX.as_secs_f64());
    // At least a little, so that rounding can't make this a busy loop; nor a fast clock that stands still.
    let least = if speed > 1.0 { Duration::from_micros(200) } else { Duration::from_micros(10) };
    Duration::from_secs_f64(seconds).max(least)
}
