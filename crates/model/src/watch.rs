//! Detects steps of the machine's clock, by comparing it with the time since the machine was started, which
//! nobody can set and which includes suspension. The difference of the two changes only by a step.
//!
//! - *Forward by more than a minute*: time stands still for a while, so that nothing fires. If the step is
//!   undone meanwhile, nothing has happened; else it is accepted.
//! - *Back*: accepted at once. Jobs that are ahead of the clock are to be repaired
//!   ([`decide::repair`](crate::decide::repair)).
//! - *Smaller differences* are corrections of the clock and are ignored.
//!
//! An accepted step forward may still be wrong, so for a day nothing is deleted for being too old by it.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// A step forward by more than this is not accepted at once.
const FORWARD_MAX: SignedDuration = SignedDuration::from_secs(60);

/// A step back by more than this is reported.
const BACK_MAX: SignedDuration = SignedDuration::from_secs(1);

/// The clock may drift by this much in total before a reading takes the slow path.
const DRIFT_MAX_MICROS: i64 = 500_000;

/// How long nothing is deleted for being too old after a step forward, in time since the machine was started.
const DISTRUST: Duration = Duration::from_secs(24 * 3_600);

/// How long nothing is deleted after a start: a machine may start with a wrong time, which is usually corrected
/// within seconds.
const REST: Duration = Duration::from_secs(600);

/// The most events that are kept. A clock with more steps in a day is broken, and the latest ones show it.
const NEWS_MAX: usize = 32;

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The clock of the machine, which can be set.
    pub wall: Timestamp,
    /// The time since the machine was started, suspension included.
    pub boot: Duration,
}

/// What a clock did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClockEvent {
    /// It went forward, and the time stands still for now.
    Held,
    /// It went forward and stayed there.
    Forward,
    /// It went forward and came back before it was believed.
    Returned,
    /// It went back.
    Back,
}

/// An event of a clock, with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockNews {
    /// The number of the event, from 1.
    pub number: u64,
    /// What happened.
    pub event: ClockEvent,
    /// How far the clock is from where it would have been; negative if it went back.
    pub by: SignedDuration,
    /// What the clock showed then.
    pub at: Timestamp,
    /// The time since the machine was started.
    pub boot: Duration,
}

/// Watches a clock. Every reading of the clock goes through [`believe`](Self::believe).
#[derive(Debug)]
pub struct ClockWatch {
    hold: Duration,
    began: Duration,
    /// The machine's clock minus the time since the start, in microseconds, while no step is held; else a value
    /// that no reading has.
    offset: AtomicI64,
    /// The latest time since the start that was seen, in microseconds.
    boot: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    offset: SignedDuration,
    /// When a reading was last judged. Threads may get here in another order than they read the clocks.
    judged: Duration,
    held: Option<Hold>,
    news: VecDeque<ClockNews>,
    last_number: u64,
}

/// A step forward that is not accepted yet.
#[derive(Clone, Copy, Debug)]
struct Hold {
    /// The time that the clock is held at.
    stands_at: Timestamp,
    /// The new difference of the two clocks.
    offset: SignedDuration,
    until: Duration,
}

impl ClockWatch {
    /// Watches from a first reading on, which is accepted. A step forward is held for `hold`, in time since the
    /// start of the machine.
    pub fn new(hold: Duration, first: ClockReading) -> Self {
        let offset = first.offset();
        let state = State { offset, judged: first.boot, held: None, news: VecDeque::new(), last_number: 0 };
        Self {
            hold,
            began: first.boot,
            offset: AtomicI64::new(micros(offset)),
            boot: AtomicU64::new(boot_micros(first.boot)),
            state: Mutex::new(state),
        }
    }

    /// The time to use for a reading.
    pub fn believe(&self, reading: ClockReading) -> Timestamp {
        self.boot.fetch_max(boot_micros(reading.boot), Ordering::Relaxed);
        let offset = micros(reading.offset());
        if offset.abs_diff(self.offset.load(Ordering::Relaxed)) <= DRIFT_MAX_MICROS.unsigned_abs() {
            return reading.wall;
        }
        let mut state = self.state();
        let believed = state.judge(reading, self.hold);
        let calm = if state.held.is_none() { micros(state.offset) } else { i64::MIN };
        self.offset.store(calm, Ordering::Relaxed);
        believed
    }

    /// By how much the clock was set forward, while that is not accepted yet.
    pub fn held(&self) -> Option<SignedDuration> {
        let state = self.state();
        state.held.map(|held| held.offset.saturating_sub(state.offset))
    }

    /// The events after the event with this number, oldest first; all for 0.
    pub fn news(&self, after: u64) -> Vec<ClockNews> {
        self.state().news.iter().filter(|news| news.number > after).copied().collect()
    }

    /// The time since the machine was started, at the last reading.
    pub fn boot(&self) -> Duration {
        Duration::from_micros(self.boot.load(Ordering::Relaxed))
    }

    /// The time to use for deleting what is too old; none if nothing may be deleted.
    pub fn time_for_housekeeping(&self, now: Timestamp) -> Option<Timestamp> {
        let boot = self.boot();
        let state = self.state();
        if state.held.is_some() || boot.saturating_sub(self.began) < REST {
            return None;
        }
        let young = state.news.iter().filter(|news| boot.saturating_sub(news.boot) < DISTRUST);
        let steps = young.filter(|news| matches!(news.event, ClockEvent::Forward | ClockEvent::Back));
        let ahead: SignedDuration = steps.fold(SignedDuration::ZERO, |sum, news| sum.saturating_add(news.by));
        now.checked_sub(ahead.max(SignedDuration::ZERO)).ok()
    }

    /// The state is consistent whenever nobody holds its lock, so a poisoned lock can be used.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn judge(&mut self, reading: ClockReading, hold: Duration) -> Timestamp {
        let offset = reading.offset();
        let by = offset.saturating_sub(self.offset);
        if reading.boot < self.judged {
            return self.held.map_or_else(|| back_by(reading.wall, by), |held| held.stands_at);
        }
        self.judged = reading.boot;
        let forward = by > FORWARD_MAX;
        if self.held.is_some() && !forward {
            self.held = None;
            self.note(ClockEvent::Returned, by, reading);
        }
        match self.held {
            Some(held) if reading.boot >= held.until => {
                self.held = None;
                self.note(ClockEvent::Forward, by, reading);
            }
            Some(held) => {
                let moved = offset.saturating_sub(held.offset).abs() > FORWARD_MAX;
                if moved {
                    self.held = Some(Hold { offset, until: reading.boot.saturating_add(hold), ..held });
                }
                return held.stands_at;
            }
            None if forward && hold.is_zero() => self.note(ClockEvent::Forward, by, reading),
            None if forward => {
                let stands_at = back_by(reading.wall, by);
                self.held = Some(Hold { stands_at, offset, until: reading.boot.saturating_add(hold) });
                self.note(ClockEvent::Held, by, reading);
                return stands_at;
            }
            None if by < -BACK_MAX => self.note(ClockEvent::Back, by, reading),
            None => {}
        }
        self.offset = offset;
        reading.wall
    }

    fn note(&mut self, event: ClockEvent, by: SignedDuration, reading: ClockReading) {
        if self.news.len() == NEWS_MAX {
            self.news.pop_front();
        }
        self.last_number += 1;
        let ClockReading { wall: at, boot } = reading;
        self.news.push_back(ClockNews { number: self.last_number, event, by, at, boot });
    }
}

impl ClockReading {
    /// The machine's clock minus the time since the start.
    fn offset(&self) -> SignedDuration {
        let boot = SignedDuration::try_from(self.boot).unwrap_or(SignedDuration::MAX);
        self.wall.duration_since(Timestamp::UNIX_EPOCH).saturating_sub(boot)
    }
}

fn back_by(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_sub(by).unwrap_or(at)
}

fn micros(offset: SignedDuration) -> i64 {
    i64::try_from(offset.as_micros()).unwrap_or(i64::MAX)
}

fn boot_micros(boot: Duration) -> u64 {
    u64::try_from(boot.as_micros()).unwrap_or(u64::MAX)
}
