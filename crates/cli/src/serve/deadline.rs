//! The end of all waiting at a stop.
//!
//! Each part has a deadline of its own when it stops. This one is behind them, for what can't be cut off: a thread that
//! waits for a disk that does not answer, a library that waits for the network. Ending without it is safe, as kill
//! -9 is.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::exit::Exit;

/// Ends the process if it is not dropped in time after it was set.
#[derive(Debug, Default)]
pub(super) struct Deadline(Mutex<Option<Sender<()>>>);

impl Deadline {
    /// From now on the process has so long, and ends with a code if that is not enough.
    pub(super) fn set(&self, time: Duration, exit: Exit) {
        self.set_to(time, move || {
            let seconds = time.as_secs();
            tracing::error!("could not stop within {seconds} s: ending without waiting any longer");
            end(exit);
        });
    }

    fn set_to(&self, time: Duration, late: impl FnOnce() + Send + 'static) {
        let (in_time, stopped) = mpsc::channel();
        let watch = move || {
            if stopped.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                late();
            }
        };
        if let Err(error) = std::thread::Builder::new().name("stop-deadline".to_owned()).spawn(watch) {
            tracing::warn!(%error, "the stop has no deadline");
        }
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(in_time);
    }
}

#[expect(clippy::disallowed_methods, reason = "main waits for what does not end")]
fn end(exit: Exit) {
    std::process::exit(exit as i32);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than anything takes on a busy machine.
    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn a_stop_that_takes_too_long_is_ended() {
        let (told, late) = mpsc::channel();
        let deadline = Deadline::default();
        deadline.set_to(Duration::from_millis(1), move || told.send(()).unwrap());
        late.recv_timeout(LONG).unwrap();
    }

    #[test]
    fn a_stop_in_time_is_not() {
        let (told, late) = mpsc::channel::<()>();
        let deadline = Deadline::default();
        deadline.set_to(LONG, move || told.send(()).unwrap());
        drop(deadline);
        assert_eq!(late.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected), "nobody waits any more");
    }
}
