//! Compares the clock of the machine with the time since it was started, which nobody can set and which goes on
//! while the machine is suspended: what the one went more than the other is a step.
//!
//! - *Forward by more than a minute*: the time stands still for a while, so that nothing fires. If the step is
//!   taken back meanwhile, nothing has happened; else it is accepted.
//! - *Back*: accepted at once. What has come further than the clock is to be repaired
//!   ([`decide::repair`](crate::decide::repair)).
//! - *Less than that* is how clocks are kept right.
//!
//! A step forward that is accepted may still be wrong, so for a day nothing is deleted for being old by it.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// A step forward by more than this is not believed at once.
const FORWARD_MAX: SignedDuration = SignedDuration::from_secs(60);

/// A step back by more than this is worth telling.
const BACK_MAX: SignedDuration = SignedDuration::from_secs(1);

/// The clock may go this much faster or slower, altogether, before it is looked at closely.
const DRIFT_MAX_MICROS: i64 = 500_000;

/// How long nothing is let go of for being old by a step forward, in time since the machine was started.
const DISTRUST: Duration = Duration::from_secs(24 * 3_600);

/// How long nothing is let go of after a start: a machine may come up with a wrong time, which is mostly set right
/// within seconds.
const REST: Duration = Duration::from_secs(600);

/// How many events are kept. A clock that steps more often within a day is broken, and the last ones show it.
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

/// An event of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockNews {
    /// Counts the events, from 1.
    pub number: u64,
    /// What happened.
    pub event: ClockEvent,
    /// By how much the clock is off from where it would have been; negative if it went back.
    pub by: SignedDuration,
    /// What it showed then.
    pub at: Timestamp,
    /// The time since the machine was started.
    pub boot: Duration,
}

/// Watches a clock. Whoever reads the clock asks it what to take for the time.
#[derive(Debug)]
pub struct ClockWatch {
    hold: Duration,
    began: Duration,
    /// What the clock is ahead of the time since the start, in microseconds, as long as nothing is held; else a
    /// value that no reading has.
    offset: AtomicI64,
    /// The latest time since the start that was seen, in microseconds.
    boot: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    offset: SignedDuration,
    /// When a reading was judged last. Threads may come here in another order than they have read the clocks.
    judged: Duration,
    held: Option<Hold>,
    news: VecDeque<ClockNews>,
    last_number: u64,
}

/// A step forward that is not believed yet.
#[derive(Clone, Copy, Debug)]
struct Hold {
    /// What is taken for the time.
    stands_at: Timestamp,
    /// Where the clock is off to.
    offset: SignedDuration,
    until: Duration,
}

impl ClockWatch {
    /// Watches from a reading on, which is believed. A step forward is held for so long, in time since the start
    /// of the machine.
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

    /// The time to go by.
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

    /// By how much the clock went forward, while that is not believed yet.
    pub fn held(&self) -> Option<SignedDuration> {
        let state = self.state();
        state.held.map(|held| held.offset.saturating_sub(state.offset))
    }

    /// What happened after an event, oldest first; from the beginning for 0.
    pub fn news(&self, after: u64) -> Vec<ClockNews> {
        self.state().news.iter().filter(|news| news.number > after).copied().collect()
    }

    /// The time since the machine was started, when somebody looked last.
    pub fn boot(&self) -> Duration {
        Duration::from_micros(self.boot.load(Ordering::Relaxed))
    }

    /// By what time something may be let go of because it is old; none if nothing may.
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

    /// The state is whole whenever nobody holds its lock, so a poisoned lock is as good as another.
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
    /// What the clock is ahead of the time since the start.
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
