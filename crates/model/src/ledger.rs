//! The ledger of a job: history, skips and schedule merged into one row for each occurrence.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_recurrence::Timetable;

use crate::{Cause, Job, JobState, Record, RecordStatus, Skip, SkipReason};

/// As many records are looked at for one page: each occurrence has one, or as many as it took attempts.
pub const RECORDS_MAX: usize = 5_000;

/// As many skips are looked at for one page.
pub const SKIPS_MAX: usize = 1_000;

/// What became of an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is to come.
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
    pub outcome: Outcome,
    /// When its first attempt began.
    pub started_at: Option<Timestamp>,
    /// How many attempts its main action took so far.
    pub attempt_count: u32,
}

/// What the rows are made of.
pub struct Ledger<'a> {
    /// Whose occurrences they are.
    pub job: &'a Job,
    /// Whether the job's collection is enabled.
    pub collection_enabled: bool,
    /// An attempt of the job is under way.
    pub in_flight: bool,
    /// The time of the request.
    pub now: Timestamp,
    /// Ordered by nominal time; at most [`RECORDS_MAX`].
    pub records: Vec<&'a Record>,
    /// Ordered by their first occurrence; at most [`SKIPS_MAX`].
    pub skips: &'a [Skip],
}

impl Ledger<'_> {
    /// The rows in `from..=to`, at most `limit`, and whether those are all.
    pub fn rows(&self, from: Timestamp, to: Timestamp, limit: usize) -> (Vec<Row>, bool) {
        let mut rows = BTreeMap::new();
        // Where the records were cut, the last occurrence may not be whole; the next page has it.
        let mut until = to;
        if self.records.len() == RECORDS_MAX
            && let Some(last) = self.records.last()
        {
            until = until.min(before(last.nominal_at));
        }
        if self.skips.len() == SKIPS_MAX
            && let Some(last) = self.skips.last()
        {
            until = until.min(before(last.first_at));
        }
        self.add_skips(&mut rows, from, until, limit);
        self.add_records(&mut rows, until);
        self.add_schedule(&mut rows, from, until, limit);
        let whole = rows.len() <= limit && until == to;
        (rows.into_values().take(limit).collect(), whole)
    }

    fn add_records(&self, rows: &mut BTreeMap<Timestamp, Row>, until: Timestamp) {
        let scheduled = self.records.iter().copied();
        let scheduled =
            scheduled.filter(|record| record.cause == Cause::Schedule && record.nominal_at <= until);
        for record in scheduled.filter(|record| record.step == 0 && record.status != RecordStatus::Postponed)
        {
            let row = rows.entry(record.nominal_at).or_insert(Row {
                due_at: record.nominal_at,
                outcome: Outcome::Failed,
                started_at: None,
                attempt_count: 0,
            });
            let earlier = row.started_at.is_none_or(|started_at| record.started_at < started_at);
            if earlier {
                row.started_at = Some(record.started_at);
            }
            row.attempt_count += 1;
            match record.status {
                RecordStatus::Completed => row.outcome = Outcome::Succeeded,
                // A skip can't have attempts: the attempt is what happened.
                RecordStatus::Failed if row.outcome != Outcome::Succeeded => row.outcome = Outcome::Failed,
                RecordStatus::Failed | RecordStatus::Postponed => {}
            }
        }
    }

    fn add_skips(
        &self,
        rows: &mut BTreeMap<Timestamp, Row>,
        from: Timestamp,
        until: Timestamp,
        limit: usize,
    ) {
        let timetable = self.job.spec.timetable(self.job.put_at).ok();
        for skip in self.skips {
            let mut add = |due_at: Timestamp| {
                let outcome = Outcome::Skipped(skip.reason);
                rows.entry(due_at).or_insert(Row { due_at, outcome, started_at: None, attempt_count: 0 });
            };
            let (first, last) = (skip.first_at.max(from), skip.last_at.min(until));
            match &timetable {
                // The rule that yielded them is still the job's.
                Some(timetable) if skip.generation == self.job.generation && yields(timetable, skip) => {
                    let occurrences =
                        std::iter::successors(timetable.at_or_after(first), |&at| timetable.next_after(at));
                    occurrences.take_while(|&at| at <= last).take(limit).for_each(&mut add);
                }
                Some(_) | None => {
                    let ends = [skip.first_at, skip.last_at].into_iter();
                    ends.filter(|&at| first <= at && at <= last).for_each(&mut add);
                }
            }
        }
    }

    /// What the agenda says: the entry, and what comes behind it.
    fn add_schedule(
        &self,
        rows: &mut BTreeMap<Timestamp, Row>,
        from: Timestamp,
        until: Timestamp,
        limit: usize,
    ) {
        let mut pending_from = None;
        if let Some(entry) = self.job.progress.entry {
            let scheduled = entry.cause == Cause::Schedule;
            if scheduled && (from..=until).contains(&entry.nominal_at) && entry.step == 0 {
                // What is under way may be an occurrence that an edit has taken off the agenda.
                let running = self.in_flight && entry.due_at <= self.now;
                let outcome = match (running, entry.started()) {
                    (true, _) => Outcome::Running,
                    (false, true) => Outcome::Retrying,
                    (false, false) => Outcome::Pending,
                };
                let row = Row { due_at: entry.nominal_at, outcome, started_at: None, attempt_count: 0 };
                rows.entry(entry.nominal_at).or_insert(row).outcome = outcome;
            }
            pending_from = scheduled.then_some(entry.nominal_at);
        }
        if self.job.state != JobState::Enabled || !self.collection_enabled {
            return;
        }
        let Ok(timetable) = self.job.spec.timetable(self.job.put_at) else { return };
        let progress = &self.job.progress;
        let entry_counts =
            u32::from(progress.entry.is_some_and(|entry| !entry.started() && entry.cause == Cause::Schedule));
        let left = timetable.count().map_or(usize::MAX, |count| {
            count.saturating_sub(progress.started_count).saturating_sub(entry_counts) as usize
        });
        let behind = [pending_from, progress.past_at].into_iter().flatten().max();
        let first = match (behind, progress.floor_at) {
            (Some(behind), Some(floor_at)) => {
                timetable.next_after(behind).max(timetable.at_or_after(floor_at))
            }
            (Some(behind), None) => timetable.next_after(behind),
            (None, Some(floor_at)) => timetable.at_or_after(floor_at),
            (None, None) => timetable.first(),
        };
        let upcoming = std::iter::successors(first, |&at| timetable.next_after(at)).take(left);
        for due_at in upcoming.take_while(|&at| at <= until).filter(|&at| at >= from).take(limit) {
            let row = Row { due_at, outcome: Outcome::Pending, started_at: None, attempt_count: 0 };
            rows.entry(due_at).or_insert(row);
        }
    }
}

/// Whether a timetable yields exactly what was skipped; after a PATCH of the schedule it may not.
fn yields(timetable: &Timetable, skip: &Skip) -> bool {
    let due = timetable.due_between(before(skip.first_at), skip.last_at);
    due.is_some_and(|due| (due.first, due.last, due.count) == (skip.first_at, skip.last_at, skip.count))
}

fn before(at: Timestamp) -> Timestamp {
    Timestamp::from_nanosecond(at.as_nanosecond() - 1).unwrap_or(Timestamp::MIN)
}
