//! How punctual the machine itself is: a thread that only sleeps while something else is measured.
//!
//! On a shared machine a processor may be taken away for many milliseconds. A thread that only sleeps notices
//! that as much as the server does, which tells the two causes of lateness apart.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;

use crate::clock;
use crate::distribution::{Distribution, milliseconds};

/// How long it sleeps: short enough to notice, long enough to be no load.
const NAP: Duration = Duration::from_millis(5);

/// A running sleeper.
pub(crate) struct Sleeper {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<f64>>,
}

impl Sleeper {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("sleeper".to_owned()).spawn(move || {
            let mut late = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let since = clock::now();
                clock::pause(NAP);
                late.push(milliseconds(since.elapsed().saturating_sub(NAP)));
            }
            late
        });
        Ok(Self { stop, thread: thread.context("could not start a thread")? })
    }

    /// How late it woke up.
    pub(crate) fn stop(self) -> Distribution {
        self.stop.store(true, Ordering::Relaxed);
        Distribution::of_milliseconds(self.thread.join().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeper_is_never_early() {
        let sleeper = Sleeper::start().unwrap();
        clock::pause(NAP * 4);
        let late = sleeper.stop();
        assert!(late.quantile(0.0) >= 0.0 && late.max() >= late.quantile(0.5));
    }
}
