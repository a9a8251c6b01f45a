//! The ledger of a job: history, skips and schedule merged into one row per occurrence.
//!
//! A page costs what its rows cost, wherever it is: the occurrences before it are counted, not visited.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_recurrence::Timetable;

use crate::decide::pass_ahead;
use crate::{Cause, Job, JobState, Record, RecordStatus, Rerun, Skip, SkipReason};

/// The most records that are read for one page: an occurrence has one per attempt.
pub const RECORDS_MAX: usize = 5_000;

/// The most skips that are read for one page.
pub const SKIPS_MAX: usize = 1_000;

/// The most reruns that are read for one page.
pub const RERUNS_MAX: usize = 1_000;

/// What became of an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OccurrenceOutcome {
    /// It is still to come.
    Pending,
    /// An attempt is under way.
    Running,
    /// An attempt has failed, another one is to come.
    Retrying,
    /// Its main action succeeded.
    Succeeded,
    /// All attempts of its main action failed.
    Failed,
    /// It did not start.
    Skipped(SkipReason),
}

/// An occurrence with what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The instant that the rule yields.
    pub due_at: Timestamp,
    /// What became of it.
    pub outcome: OccurrenceOutcome,
    /// When its first attempt began.
    pub started_at: Option<Timestamp>,
    /// How many attempts its main action took so far.
    pub attempt_count: u32,
    /// It was started although its time is yet to come: the clock was ahead, and was set back since.
    pub ahead: bool,
    /// When the occurrence was due that this one repeats, if it is a run that does.
    pub rerun_of: Option<Timestamp>,
}

/// What the rows are made from.
pub struct Ledger<'a> {
    /// The job.
    pub job: &'a Job,
    /// Whether the job's collection is enabled.
    pub collection_enabled: bool,
    /// Whether an attempt of the job is in flight.
    pub in_flight: bool,
    /// The time of the request.
    pub now: Timestamp,
    /// Ordered by nominal time; at most [`RECORDS_MAX`].
    pub records: Vec<&'a Record>,
    /// Ordered by their first occurrence; at most [`SKIPS_MAX`].
    pub skips: &'a [Skip],
    /// Runs that repeat an occurrence, where either is in the window; at most [`RERUNS_MAX`].
    pub reruns: &'a [Rerun],
    /// Records and skips from before this instant may have been deleted; none if all are there.
    pub pruned_before: Option<Timestamp>,
}

/// Consecutive rows of a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// One for each occurrence, except those whose records and skips were deleted; and one for each run that repeats one.
    pub rows: Vec<Row>,
    /// All occurrences up to and including this instant are on this page, and the window continues after it;
    /// none if this is the last page.
    pub shown_until: Option<Timestamp>,
    /// Occurrences before this instant may be missing, because their records were deleted.
    pub pruned_before: Option<Timestamp>,
    /// Why the job's schedule never matches, if it never does.
    pub never_matches: Option<String>,
}

impl Ledger<'_> {
    /// The occurrences in `from..=to`, at most `limit`.
    pub fn page(&self, from: Timestamp, to: Timestamp, limit: usize) -> Page {
        let timetable = self.job.spec.timetable(self.job.put_at).ok();
        let window = Window { from, until: self.known_until(from, to), limit: limit.saturating_add(1) };
        let mut rows = Rows::new();
        self.add_skips(&mut rows, timetable.as_ref(), window);
        self.add_records(&mut rows, window);
        self.add_waiting(&mut rows, window);
        self.add_entry(&mut rows, window);
        if let Some(timetable) = &timetable {
            self.add_upcoming(&mut rows, timetable, window);
        }
        let more = rows.len() > limit;
        // The instant that identifies a run may be ahead of the clock.
        let ahead = |row: Row| {
            let ahead = row.started_at.is_some() && row.due_at > self.now && row.rerun_of.is_none();
            Row { ahead, ..row }
        };
        // The next page begins after the last instant, so both of two rows with the same one are on this page.
        let cut = rows.keys().nth(limit.saturating_sub(1)).map(|(due_at, _)| *due_at);
        let shown = |index: usize, due_at: Timestamp| index < limit || Some(due_at) == cut;
        let rows = rows.into_values().enumerate().take_while(|(index, row)| shown(*index, row.due_at));
        let rows: Vec<Row> = rows.map(|(_, row)| ahead(row)).collect();
        let last = if more { rows.last().map(|row| row.due_at) } else { Some(window.until) };
        Page {
            shown_until: last.filter(|&last| last < to),
            rows,
            pruned_before: self.pruned_before.filter(|&before| from < before && self.may_miss(before)),
            never_matches: timetable.and_then(|timetable| timetable.never_matches()),
        }
    }

    /// The last instant up to which everything is known. If the records were cut, the last occurrence may be
    /// incomplete; it is on the next page.
    fn known_until(&self, from: Timestamp, to: Timestamp) -> Timestamp {
        let record = self.records.last().filter(|_| self.records.len() >= RECORDS_MAX);
        let skip = self.skips.last().filter(|_| self.skips.len() >= SKIPS_MAX);
        let cuts = record.map(|record| record.nominal_at).into_iter().chain(skip.map(|skip| skip.first_at));
        // Whatever is cut, the next page begins after this one.
        cuts.map(|cut| before(cut).max(from)).fold(to, Timestamp::min)
    }

    /// Whether something about the job may have been recorded before an instant.
    fn may_miss(&self, before: Timestamp) -> bool {
        self.job.generation > 1 || self.job.put_at < before
    }

    fn add_records(&self, rows: &mut Rows, window: Window) {
        let attempts = self.records.iter().copied();
        let attempts = attempts.filter(|record| window.contains(record.nominal_at));
        for record in attempts.filter(|record| record.step == 0 && record.status != RecordStatus::Postponed) {
            let Some(new) = self.row(record.nominal_at, record.cause, OccurrenceOutcome::Failed) else {
                continue;
            };
            let row = rows.entry((record.nominal_at, record.cause)).or_insert(new);
            let earlier = row.started_at.is_none_or(|started_at| record.started_at < started_at);
            if earlier {
                row.started_at = Some(record.started_at);
            }
            row.attempt_count += 1;
            match record.status {
                RecordStatus::Completed => row.outcome = OccurrenceOutcome::Succeeded,
                // A skip has no attempts: if there is one, the attempt is what happened.
                RecordStatus::Failed if row.outcome != OccurrenceOutcome::Succeeded => {
                    row.outcome = OccurrenceOutcome::Failed;
                }
                RecordStatus::Failed | RecordStatus::Postponed => {}
            }
        }
    }

    fn add_skips(&self, rows: &mut Rows, timetable: Option<&Timetable>, window: Window) {
        for skip in self.skips {
            // They are in order: the rest is after the page.
            let full = rows.len() >= window.limit;
            if full && rows.last_key_value().is_some_and(|((last, _), _)| *last < skip.first_at) {
                return;
            }
            let mut add = |due_at: Timestamp| {
                let row = Row::new(due_at, OccurrenceOutcome::Skipped(skip.reason));
                rows.entry((due_at, Cause::Schedule)).or_insert(row);
            };
            let (first, last) = (skip.first_at.max(window.from), skip.last_at.min(window.until));
            match timetable {
                // The rule that yielded them is still the rule of the job.
                Some(timetable) if skip.generation == self.job.generation && yields(timetable, skip) => {
                    occurrences(timetable, first, last).take(window.limit).for_each(&mut add);
                }
                Some(_) | None => {
                    let ends = [skip.first_at, skip.last_at].into_iter();
                    ends.filter(|&at| first <= at && at <= last).for_each(&mut add);
                }
            }
        }
    }

    /// What is on the agenda.
    fn add_entry(&self, rows: &mut Rows, window: Window) {
        let entry = self.job.progress.entry.filter(|entry| entry.step == 0);
        let Some(entry) = entry.filter(|entry| window.contains(entry.nominal_at)) else { return };
        // The attempt in flight may be of an occurrence that an edit has taken off the agenda.
        let running = self.in_flight && entry.due_at <= self.now;
        let outcome = match (running, entry.started()) {
            (true, _) => OccurrenceOutcome::Running,
            (false, true) => OccurrenceOutcome::Retrying,
            (false, false) => OccurrenceOutcome::Pending,
        };
        let Some(new) = self.row(entry.nominal_at, entry.cause, outcome) else { return };
        rows.entry((entry.nominal_at, entry.cause)).or_insert(new).outcome = outcome;
    }

    /// Runs that repeat an occurrence and wait for their turn.
    fn add_waiting(&self, rows: &mut Rows, window: Window) {
        let waiting = self.job.progress.runs.iter().copied().filter(|at| window.contains(*at));
        for at in waiting {
            if let Some(new) = self.row(at, Cause::Run, OccurrenceOutcome::Pending) {
                rows.entry((at, Cause::Run)).or_insert(new);
            }
        }
    }

    /// A new row: for each occurrence of the schedule, and for a run that repeats one. Other runs are not in the ledger.
    fn row(&self, at: Timestamp, cause: Cause, outcome: OccurrenceOutcome) -> Option<Row> {
        let rerun = self.reruns.iter().find(|rerun| cause == Cause::Run && rerun.run_at == at);
        match (cause, rerun) {
            (Cause::Run, None) => None,
            (Cause::Schedule, _) | (Cause::Run, Some(_)) => {
                Some(Row { rerun_of: rerun.map(|rerun| rerun.of_at), ..Row::new(at, outcome) })
            }
        }
    }

    /// The occurrences after the entry, as many as `count` leaves.
    fn add_upcoming(&self, rows: &mut Rows, timetable: &Timetable, window: Window) {
        if self.job.state != JobState::Enabled || !self.collection_enabled {
            return;
        }
        let progress = &self.job.progress;
        // A started entry is in the past, or was started while the clock was ahead.
        let entry = progress.entry.filter(|entry| entry.cause == Cause::Schedule && !entry.started());
        // After all of these, each of which may be absent.
        let passed = [entry.map(|entry| entry.nominal_at), progress.past_at].into_iter().flatten().max();
        let begin = passed.map(after).into_iter().chain(progress.floor_at).max().unwrap_or(Timestamp::MIN);
        let left = timetable.count().map(|count| {
            let started = progress.started_count.saturating_add(u32::from(entry.is_some()));
            let left = u64::from(count.saturating_sub(started));
            if begin < window.from { self.left_at(window, timetable, begin, left) } else { left }
        });
        let left =
            left.map_or(window.limit, |left| window.limit.min(usize::try_from(left).unwrap_or(usize::MAX)));
        let ahead = |at: Timestamp| pass_ahead(&progress.ahead, timetable, at);
        let first = timetable.at_or_after(begin.max(window.from)).and_then(ahead);
        let upcoming = std::iter::successors(first, |&at| timetable.next_after(at).and_then(ahead));
        for due_at in upcoming.take_while(|&at| at <= window.until).take(left) {
            let row = Row::new(due_at, OccurrenceOutcome::Pending);
            rows.entry((due_at, Cause::Schedule)).or_insert(row);
        }
    }

    /// How many of so many occurrences from an instant on are left at a later window; where that is more than it
    /// shows, perhaps not exactly.
    ///
    /// To count them takes steps for all years in between. So few that a page holds them are walked instead, and so
    /// many that they can't be used up by then need not be counted.
    fn left_at(&self, window: Window, timetable: &Timetable, begin: Timestamp, left: u64) -> u64 {
        let limit = window.limit as u64;
        if left.saturating_sub(timetable.most_between(before(begin), window.from)) >= limit {
            return limit;
        }
        if left > limit {
            return left.saturating_sub(self.pending_between(timetable, begin, window.from));
        }
        let ahead = |at: Timestamp| pass_ahead(&self.job.progress.ahead, timetable, at);
        let first = timetable.at_or_after(begin).and_then(ahead);
        let upcoming = std::iter::successors(first, |&at| timetable.next_after(at).and_then(ahead));
        let within = upcoming.zip(0..left).filter(|(at, _)| *at >= window.from);
        within.count() as u64
    }

    /// Counts the occurrences that are to come from one instant to before another.
    fn pending_between(&self, timetable: &Timetable, from: Timestamp, to: Timestamp) -> u64 {
        let count = |from: Timestamp, until: Timestamp| timetable.count_between(before(from), until);
        let started =
            self.job.progress.ahead.iter().filter(|ahead| ahead.last_at >= from && ahead.first_at < to);
        let started = started.map(|ahead| count(ahead.first_at.max(from), ahead.last_at.min(before(to))));
        count(from, before(to)).saturating_sub(started.sum())
    }
}

impl Row {
    /// An occurrence without an attempt.
    fn new(due_at: Timestamp, outcome: OccurrenceOutcome) -> Self {
        Self { due_at, outcome, started_at: None, attempt_count: 0, ahead: false, rerun_of: None }
    }
}

/// Rows by their instant; a run may have that of an occurrence of the schedule.
type Rows = BTreeMap<(Timestamp, Cause), Row>;

/// The range of a page.
#[derive(Clone, Copy)]
struct Window {
    from: Timestamp,
    until: Timestamp,
    /// At most this many of each kind: one more than shown tells whether there are more.
    limit: usize,
}

impl Window {
    fn contains(self, at: Timestamp) -> bool {
        (self.from..=self.until).contains(&at)
    }
}

/// The occurrences from one instant to another, both included.
fn occurrences(timetable: &Timetable, from: Timestamp, until: Timestamp) -> impl Iterator<Item = Timestamp> {
    let occurrences = std::iter::successors(timetable.at_or_after(from), |&at| timetable.next_after(at));
    occurrences.take_while(move |&at| at <= until)
}

/// Whether a timetable yields exactly the skipped occurrences; after a PATCH of the schedule it may not.
fn yields(timetable: &Timetable, skip: &Skip) -> bool {
    let due = timetable.due_between(before(skip.first_at), skip.last_at);
    due.is_some_and(|due| (due.first, due.last, due.count) == (skip.first_at, skip.last_at, skip.count))
}

fn before(at: Timestamp) -> Timestamp {
    Timestamp::from_nanosecond(at.as_nanosecond() - 1).unwrap_or(Timestamp::MIN)
}

fn after(at: Timestamp) -> Timestamp {
    Timestamp::from_nanosecond(at.as_nanosecond() + 1).unwrap_or(Timestamp::MAX)
}
