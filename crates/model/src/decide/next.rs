//! What comes next for a job.

use jiff::Timestamp;
use punctual_recurrence::{DueRange, TICK, Timetable};

use super::ahead;
use crate::{Cause, Entry, Job, JobState, Record, RecordStatus, Skip, SkipReason};

/// The timetable of a stored job. Its rule was checked when it was written.
pub(super) fn timetable(job: &Job) -> Timetable {
    job.spec.timetable(job.put_at).unwrap_or_else(|problems| {
        // The rule was valid when it was written and is not valid any more, for example because its zone was
        // renamed. The job can't run, which its history says; the server must go on.
        debug_assert!(problems.is_empty(), "a stored rule was checked: {problems:?}");
        Timetable::never()
    })
}

/// The first occurrence of the job's rule after an instant, whether or not it is started.
pub fn occurrence_after(job: &Job, after: Timestamp) -> Option<Timestamp> {
    timetable(job).next_after(after)
}

/// The first scheduled occurrence that was neither started nor skipped and still counts; none if the schedule
/// or its count is used up.
pub(super) fn next_occurrence(job: &Job, timetable: &Timetable) -> Option<Timestamp> {
    if timetable.count().is_some_and(|count| job.progress.started_count >= count) {
        return None;
    }
    let behind_past = job.progress.past_at.map(|past_at| past_at + TICK);
    let from = behind_past.into_iter().chain(job.progress.floor_at).max();
    let next = match (from, &job.spec.recurrence) {
        (None, _) => timetable.first(),
        (Some(from), Some(_)) => timetable.at_or_after(from),
        // A job that runs once and has not run yet: if its time is past, it is due at once.
        (Some(from), None) => timetable.first().map(|at| at.max(from)),
    };
    ahead::pass(&job.progress.ahead, timetable, next?)
}

/// When the job runs next by its schedule, as shown to people: never a retry, never the attempt in flight, and
/// none while the job or its collection is disabled.
pub fn next_execution_at(job: &Job, collection_enabled: bool, in_flight: bool) -> Option<Timestamp> {
    if job.state != JobState::Enabled || !collection_enabled {
        return None;
    }
    match job.progress.entry {
        Some(entry) if entry.cause == Cause::Schedule && !entry.started() => {
            if in_flight {
                occurrence_behind(job, entry)
            } else {
                Some(entry.nominal_at)
            }
        }
        Some(_) | None => next_occurrence(job, &timetable(job)),
    }
}

/// The scheduled occurrence after one whose first attempt is in flight.
fn occurrence_behind(job: &Job, entry: Entry) -> Option<Timestamp> {
    job.spec.recurrence.as_ref()?;
    let mut begun = job.clone();
    begun.progress.past_at = begun.progress.past_at.max(Some(entry.nominal_at));
    begun.progress.started_count += 1;
    next_occurrence(&begun, &timetable(&begun))
}

/// Called before an entry is fired: if later occurrences of its job are due as well, the newest is taken and
/// the others are skipped as missed. Returns the job with the entry to fire and the skips to record, or
/// nothing.
pub fn catch_up(job: &Job, now: Timestamp) -> Option<(Job, Vec<Skip>)> {
    let entry = job.progress.entry.filter(|entry| entry.cause == Cause::Schedule && !entry.started())?;
    let due = ahead::due(job, &timetable(job), entry.nominal_at, now);
    let (others, newest) = ahead::split_newest(due)?;
    let skipped_last = others.last()?.last;
    let mut job = job.clone();
    job.progress.past_at = Some(skipped_last);
    job.progress.entry = Some(Entry::scheduled(newest));
    let skips = others.iter().map(|run| skip(&job, run, SkipReason::Missed, now)).collect();
    Some((job, skips))
}

/// The due occurrences of an enabled job that were not started. None while the collection is disabled, since
/// there is no entry then.
pub(super) fn due_unstarted(job: &Job, now: Timestamp) -> Vec<Skip> {
    let Some(entry) = job.progress.entry.filter(|_| job.state == JobState::Enabled) else {
        return Vec::new();
    };
    let timetable = timetable(job);
    let (first, reason) = if entry.cause == Cause::Schedule && !entry.started() {
        (Some(entry.nominal_at), SkipReason::Missed)
    } else {
        (next_occurrence(job, &timetable), SkipReason::Overlap)
    };
    let due = first.map(|first| ahead::due(job, &timetable, first, now)).unwrap_or_default();
    due.iter().map(|run| skip(job, run, reason, now)).collect()
}

/// What is to be written besides the job when nothing of it is in flight any more.
#[derive(Default)]
pub(super) struct Next {
    pub(super) skips: Vec<Skip>,
    pub(super) records: Vec<Record>,
}

/// Sets the entry after an occurrence has ended: the newest occurrence that came due meanwhile, a waiting run,
/// the next one in the future, or none, which ends the job.
pub(super) fn advance(job: &mut Job, now: Timestamp) -> Next {
    let mut next = Next::default();
    job.progress.entry = None;
    ahead::forget_passed(&mut job.progress);
    let mut scheduled = None;
    if job.state == JobState::Enabled {
        let timetable = timetable(job);
        scheduled = next_occurrence(job, &timetable);
        if scheduled.is_none() {
            end(job, now);
        }
        let due = scheduled.map(|first| ahead::due(job, &timetable, first, now)).unwrap_or_default();
        if let Some((others, newest)) = ahead::split_newest(due) {
            // A run that was asked for earlier goes first; due occurrences are found again after it.
            if job.progress.runs.first().is_none_or(|&asked_at| asked_at > newest) {
                release(job, &others, newest, now, &mut next);
                return next;
            }
        }
    }
    if !job.progress.runs.is_empty() {
        job.progress.entry = Some(run_entry(job.progress.runs.remove(0), now));
    } else {
        job.progress.entry = scheduled.map(Entry::scheduled);
    }
    next
}

/// The entry of a run that is due now. The instant that identifies it may be ahead of the clock.
pub(super) fn run_entry(asked_at: Timestamp, now: Timestamp) -> Entry {
    Entry { due_at: asked_at.min(now), ..Entry::run(asked_at) }
}

/// Makes the newest occurrence that came due while another was in flight the entry. It gets a record that it
/// waited, and the others are skipped.
fn release(job: &mut Job, others: &[DueRange], newest: Timestamp, now: Timestamp, next: &mut Next) {
    next.skips.extend(others.iter().map(|run| skip(job, run, SkipReason::Overlap, now)));
    if let Some(last) = others.last() {
        job.progress.past_at = Some(last.last);
    }
    next.records.push(Record {
        job: job.id,
        generation: job.generation,
        nominal_at: newest,
        cause: Cause::Schedule,
        step: 0,
        attempt: 0,
        ordinal: job.counters.execution + 1,
        started_at: newest,
        ended_at: now,
        status: RecordStatus::Postponed,
        message: "The occurrence waited until the one before it had ended.".into(),
    });
    job.progress.entry = Some(Entry { due_at: now, ..Entry::scheduled(newest) });
}

/// Ends the job: no occurrence is left.
pub(super) fn end(job: &mut Job, now: Timestamp) {
    job.state = if job.progress.last_failed { JobState::Faulted } else { JobState::Completed };
    job.progress.ended_at = Some(now);
}

fn skip(job: &Job, run: &DueRange, reason: SkipReason, decided_at: Timestamp) -> Skip {
    let DueRange { first: first_at, last: last_at, count, .. } = *run;
    Skip { job: job.id, generation: job.generation, first_at, last_at, count, reason, decided_at }
}
