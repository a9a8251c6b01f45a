//! What the clock did, as findings: kept for a day, so that whoever looks after a night sees it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_model::inspect::{Finding, FindingKind, Subject};
use punctual_model::{ClockEvent, ClockNews, ClockWatch};

use crate::repair::RepairReport;

/// How long an event is a finding, in time since the machine was started.
const KEPT: Duration = Duration::from_secs(24 * 3_600);

/// How many events are kept.
const EVENTS_MAX: usize = 32;

/// Jobs that are repaired so soon after a step back were repaired because of it.
const BELONGS: Duration = Duration::from_secs(600);

/// A step back by less than this is a finding only if jobs had to be repaired.
const BACK_WORTH_TELLING: SignedDuration = SignedDuration::from_secs(60);

/// How often each kind of finding was.
pub(crate) type Totals = BTreeMap<FindingKind, u64>;

/// The book of what the clock did.
#[derive(Default)]
pub(crate) struct ClockBook(Mutex<Pages>);

#[derive(Default)]
struct Pages {
    events: VecDeque<Event>,
    totals: Totals,
}

struct Event {
    kind: FindingKind,
    /// By how much the clock went; none where jobs were found without anybody seeing it go.
    by: Option<SignedDuration>,
    at: Timestamp,
    boot: Duration,
    repaired_count: u64,
    latest_at: Option<Timestamp>,
    counted: bool,
}

impl ClockBook {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, news: &ClockNews) {
        let kind = match news.event {
            ClockEvent::Forward => FindingKind::ClockForward,
            ClockEvent::Back => FindingKind::ClockBack,
            ClockEvent::Held => {
                // It is a finding as long as it is held.
                *self.pages().totals.entry(FindingKind::ClockHeld).or_default() += 1;
                return;
            }
            ClockEvent::Returned => return,
        };
        self.pages().add(Event::new(kind, Some(news.by), news.at, news.boot));
    }

    /// Notes that jobs were repaired, with the step that made it necessary if that was seen.
    pub(crate) fn note_repaired(&self, report: &RepairReport, now: Timestamp, boot: Duration) {
        if report.repaired_count == 0 {
            return;
        }
        let mut pages = self.pages();
        let last = pages.events.iter().rposition(|event| event.kind == FindingKind::ClockBack);
        let mut event = match last.and_then(|last| pages.events.remove(last)) {
            Some(event) if boot.saturating_sub(event.boot) < BELONGS => event,
            other => {
                pages.events.extend(other);
                Event::new(FindingKind::ClockBack, None, now, boot)
            }
        };
        event.repaired_count += report.repaired_count;
        event.latest_at = event.latest_at.max(report.latest_at);
        pages.add(event);
    }

    /// What is to be found at the moment, and how often each kind was since the start.
    pub(crate) fn findings(&self, clock: &ClockWatch, now: Timestamp) -> (Vec<Finding>, Totals) {
        let boot = clock.boot();
        let pages = self.pages();
        let young = |event: &&Event| boot.saturating_sub(event.boot) < KEPT && event.worth_telling();
        let mut findings: Vec<Finding> = pages.events.iter().filter(young).map(Event::finding).collect();
        if let Some(by) = clock.held() {
            let detail =
                format!("the clock is {} ahead of where it should be; nothing fires for now", span(by));
            findings.push(finding(FindingKind::ClockHeld, detail, now));
        }
        (findings, pages.totals.clone())
    }
}

impl Pages {
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

/// A time for people, whichever way it goes.
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
