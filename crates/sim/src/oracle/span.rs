//! A time in which the schedule of a job was enabled.

use std::collections::BTreeSet;

use jiff::Timestamp;
use punctual_model::Skip;
use punctual_recurrence::{TICK, Timetable};

/// From when a schedule was enabled, or changed, to when that ended. The outcomes of its occurrences come in
/// order and without a gap: `cursor` is the one that must come next.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    timetable: Timetable,
    /// Occurrences that were started while the clock was ahead: they have their outcome before their turn.
    done: BTreeSet<Timestamp>,
    /// Whether the rule alone says what comes next. A job that runs once may run when it is enabled.
    chained: bool,
    /// The first occurrence without an outcome; none if there is none left.
    pub(super) cursor: Option<Timestamp>,
    /// When it ended.
    pub(super) closed_at: Option<Timestamp>,
    /// What the edit that ended it skipped. An edit can't know whether the attempt in flight will be recorded,
    /// so that one may be among them and have a record as well.
    skipped_by_edit: Option<(Timestamp, Timestamp)>,
}

impl Span {
    pub(super) fn new(
        timetable: &Timetable,
        first: Option<Timestamp>,
        chained: bool,
        done: BTreeSet<Timestamp>,
    ) -> Self {
        let timetable = timetable.clone();
        let mut span =
            Self { timetable, done, chained, cursor: first, closed_at: None, skipped_by_edit: None };
        if let Some(first) = first.filter(|first| span.done.contains(first)) {
            span.cursor = span.next_after(first);
        }
        span
    }

    /// The first occurrence after an instant that was not started ahead.
    pub(super) fn next_after(&self, at: Timestamp) -> Option<Timestamp> {
        let mut next = self.timetable.next_after(at)?;
        while self.done.contains(&next) {
            next = self.timetable.next_after(next)?;
        }
        Some(next)
    }

    /// An occurrence has its outcome.
    pub(super) fn started(&mut self, at: Timestamp) -> Result<(), String> {
        let skipped_by_edit = self.skipped_by_edit.is_some_and(|(first, last)| first <= at && at <= last);
        if skipped_by_edit { Ok(()) } else { self.advance(at, at) }
    }

    /// The edit that ends the span skips some occurrences.
    pub(super) fn skip_by_edit(&mut self, skip: &Skip) -> Result<(), String> {
        self.skipped_by_edit = Some((skip.first_at, skip.last_at));
        self.skipped(skip)
    }

    /// Some occurrences were skipped.
    pub(super) fn skipped(&mut self, skip: &Skip) -> Result<(), String> {
        if !self.chained {
            return self.advance(skip.first_at, skip.last_at);
        }
        if !self.timetable.contains(skip.last_at) {
            return Err(format!("a skip ends at {}, which is no occurrence", skip.last_at));
        }
        let count = self.timetable.due_between(skip.first_at - TICK, skip.last_at).map_or(0, |due| due.count);
        if count != skip.count {
            return Err(format!("a skip counts {}, but there are {count}", skip.count));
        }
        self.advance(skip.first_at, skip.last_at)
    }

    /// The occurrence has its outcome elsewhere: it was in flight when the span began.
    pub(super) fn pass(&mut self, at: Timestamp) {
        if self.cursor == Some(at) {
            self.cursor = self.next_after(at);
        }
    }

    /// The newest due occurrence without an outcome.
    pub(super) fn newest_due(&self, now: Timestamp) -> Option<Timestamp> {
        let mut newest = self.cursor.filter(|first| *first <= now)?;
        if self.done.is_empty() {
            return Some(self.timetable.due_between(newest, now).map_or(newest, |due| due.last));
        }
        while let Some(next) = self.next_after(newest).filter(|next| *next <= now) {
            newest = next;
        }
        Some(newest)
    }

    fn advance(&mut self, first: Timestamp, last: Timestamp) -> Result<(), String> {
        // On a node whose clock is ahead, occurrences start that were not due for the edit.
        let ahead = self.closed_at.is_some_and(|closed_at| self.cursor.is_none_or(|at| at >= closed_at));
        if !self.chained || ahead {
            self.cursor = None;
            return Ok(());
        }
        let expected = self.cursor;
        self.cursor = self.next_after(last);
        match expected {
            Some(cursor) if cursor == first => Ok(()),
            Some(cursor) if cursor < first => Err(format!("{cursor} has no outcome, and {first} has one")),
            Some(cursor) => Err(format!("{first} has an outcome, but the next occurrence is {cursor}")),
            None => Err(format!("{first} has an outcome, but no occurrence was left")),
        }
    }
}
