//! Steps of the clock as findings: kept for a day, so that an operator sees them the next morning.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_model::inspect::{Finding, FindingKind, Subject};
use punctual_model::{ClockEvent, ClockNews, ClockWatch};

use crate::repair::RepairReport;

/// How long an event is a finding, in time since the machine was started.
const KEPT: Duration = Duration::from_secs(24 * 3_600);

/// The most events that are kept.
const EVENTS_MAX: usize = 32;

/// Jobs that are repaired within this time after a step back were repaired because of it.
const BELONGS: Duration = Duration::from_secs(600);

/// A smaller step back is a finding only if jobs had to be repaired.
const BACK_WORTH_TELLING: SignedDuration = SignedDuration::from_secs(60);

/// The number of findings of each kind since the start.
pub(crate) type Totals = BTreeMap<FindingKind, u64>;

/// The recent steps of the clock.
#[derive(Default)]
pub(crate) struct ClockFindings(Mutex<State>);

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    totals: Totals,
}

struct Event {
    kind: FindingKind,
    /// The size of the step; none if jobs had to be repaired and no step was seen.
    by: Option<SignedDuration>,
    at: Timestamp,
    boot: Duration,
    repaired_count: u64,
    latest_at: Option<Timestamp>,
    counted: bool,
}

impl ClockFindings {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, news: &ClockNews) {
        let kind = match news.event {
            ClockEvent::Forward => FindingKind::ClockForward,
            ClockEvent::Back => FindingKind::ClockBack,
            ClockEvent::Held => {
                // It is a finding while it is held.
                *self.state().totals.entry(FindingKind::ClockHeld).or_default() += 1;
                return;
            }
            ClockEvent::Returned => return,
        };
        self.state().add(Event::new(kind, Some(news.by), news.at, news.boot));
    }

    /// Records that jobs were repaired, with the step that made it necessary if that was seen.
    pub(crate) fn note_repaired(&self, report: &RepairReport, now: Timestamp, boot: Duration) {
        if report.repaired_count == 0 {
            return;
        }
        let mut state = self.state();
        let last = state.events.iter().rposition(|event| event.kind == FindingKind::ClockBack);
        let mut event = match last.and_then(|last| state.events.remove(last)) {
            Some(event) if boot.saturating_sub(event.boot) < BELONGS => event,
            other => {
                state.events.extend(other);
                Event::new(FindingKind::ClockBack, None, now, boot)
            }
        };
        event.repaired_count += report.repaired_count;
        event.latest_at = event.latest_at.max(report.latest_at);
        state.add(event);
    }

    /// The present findings, and the totals of each kind since the start.
    pub(crate) fn findings(&self, clock: &ClockWatch, now: Timestamp) -> (Vec<Finding>, Totals) {
        let boot = clock.boot();
        let state = self.state();
        let young = |event: &&Event| boot.saturating_sub(event.boot) < KEPT && event.worth_telling();
        let mut findings: Vec<Finding> = state.events.iter().filter(young).map(Event::finding).collect();
        if let Some(by) = clock.held() {
            let detail =
                format!("the clock is {} ahead of where it should be; nothing fires for now", span(by));
            findings.push(finding(FindingKind::ClockHeld, detail, now));
        }
        (findings, state.totals.clone())
    }
}

impl State {
    fn add(&mut self, mut event: Event) {
        if event.worth_telling() && !event.counted {
            event.counted = true;
            *self.totals.entry(event.kind).or_default() += 1;
        }
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}

impl Event {
    fn new(kind: FindingKind, by: Option<SignedDuration>, at: Timestamp, boot: Duration) -> Self {
        Self { kind, by, at, boot, repaired_count: 0, latest_at: None, counted: false }
    }

    fn worth_telling(&self) -> bool {
        let far = self.by.is_some_and(|by| by.abs() > BACK_WORTH_TELLING);
        self.kind != FindingKind::ClockBack || far || self.repaired_count > 0
    }

    fn finding(&self) -> Finding {
        let step = match self.by {
            Some(by) if self.kind == FindingKind::ClockForward => {
                format!("the clock went forward by {}", span(by))
            }
            Some(by) => format!("the clock went back by {}", span(by)),
            None => "jobs had come further than the clock".to_owned(),
        };
        let repaired = self.latest_at.map(|latest_at| {
            let jobs = if self.repaired_count == 1 {
                "1 job".to_owned()
            } else {
                format!("{} jobs", self.repaired_count)
            };
            format!("; {jobs} had come up to {latest_at} and went on from {}", self.at)
        });
        finding(self.kind, step + &repaired.unwrap_or_default(), self.at)
    }
}

fn finding(kind: FindingKind, detail: String, found_at: Timestamp) -> Finding {
    Finding { kind, subject: Subject::Clock, key: None, detail, found_at }
}

/// A duration for people, without its sign.
pub(crate) fn span(by: SignedDuration) -> String {
    let seconds = by.unsigned_abs().as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        (_, _, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_two_units() {
        let check = |seconds: i64, told: &str| assert_eq!(span(SignedDuration::from_secs(seconds)), told);
        check(0, "0 s");
        check(-61, "1 min 1 s");
        check(7_260, "2 h 1 min");
        check(-432_000 - 3_700, "5 d 1 h");
    }
}
