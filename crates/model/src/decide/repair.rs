//! Repairs a job that is ahead of the clock, because the clock was ahead and was set back.
//!
//! Such a job would not run until the clock reaches the wrong time again. [`repair`] sets it back to now:
//!
//! - it resumes at the next occurrence of its rule;
//! - what was started ahead of time keeps its record, counts, and is not started again
//!   ([`Progress::ahead`](crate::Progress::ahead));
//! - what was skipped ahead of time is still to come, so the skip is deleted;
//! - a retry is due its interval after now; a run that was asked for and an error action are due at once;
//! - a job that ended at a time that is still to come continues if its rule has an occurrence left.
//!
//! Only what happened can be in the future by mistake: a start, a skip, a PUT, an end. What is planned, such as
//! the next occurrence, belongs there. Repairing a job twice changes nothing.

use jiff::{SignedDuration, Timestamp};
use punctual_recurrence::Timetable;

use super::ahead;
use super::next::{end, next_occurrence, timetable};
use crate::{Cause, Entry, Job, JobState, PlanLimits, Skip, Sku};

/// Progress that is ahead of the clock by less than this is left alone: clocks of several nodes differ, and are
/// corrected in small steps. It costs a job at most the one occurrence within it.
pub const AHEAD_ALLOWANCE: SignedDuration = SignedDuration::from_secs(60);

/// The most occurrences started ahead that are examined: a week of every minute. A job with more keeps the
/// others, and the skips between them, as they are.
pub const STARTED_MAX: usize = 10_000;

/// The most ranges that are made of them, which leaves room for those that the job has already.
const RANGES_KEPT: usize = ahead::RANGES_MAX / 2;

/// A job and what is later than an instant, all from one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// The job.
    pub job: Job,
    /// Whether its collection is enabled.
    pub collection_enabled: bool,
    /// The plan of its collection.
    pub sku: Sku,
    /// Scheduled occurrences of its generation that are later and have an attempt record, in order. At most
    /// [`STARTED_MAX`]; if there are that many, there may be more.
    pub started: Vec<Timestamp>,
    /// Skips that began at or before the instant and end later, of any generation.
    pub skips: Vec<Skip>,
    /// If a retry is pending, when the attempt before it ended; none if that has no record.
    pub tried_at: Option<Timestamp>,
}

/// What a repair writes, if the job still has the revision that this was decided on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The job with its new state and progress.
    pub job: Job,
    /// Skips to delete.
    pub withdrawn: Withdrawal,
    /// What is left of the deleted skips, to be written again.
    pub skips: Vec<Skip>,
}

/// Selects all skips of a job that end later than one instant and begin before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Withdrawal {
    /// They end later than this.
    pub after: Timestamp,
    /// They begin before this.
    pub before: Timestamp,
}

/// The members of a job that say how far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// See [`Progress::past_at`](crate::Progress::past_at).
    pub past_at: Option<Timestamp>,
    /// See [`Progress::floor_at`](crate::Progress::floor_at).
    pub floor_at: Option<Timestamp>,
    /// The time of the last PUT.
    pub put_at: Timestamp,
    /// When the job ended.
    pub ended_at: Option<Timestamp>,
    /// What happens next.
    pub entry: Option<Entry>,
}

impl Marks {
    /// The marks of a job.
    pub fn of(job: &Job) -> Self {
        let progress = &job.progress;
        Self {
            past_at: progress.past_at,
            floor_at: progress.floor_at,
            put_at: job.put_at,
            ended_at: progress.ended_at,
            entry: progress.entry,
        }
    }

    /// Whether the job may be ahead of the clock. A retry that is still to come looks like it.
    pub fn may_be_ahead(&self, now: Timestamp) -> bool {
        let entry = self.entry.filter(|entry| entry.started() || at_once(entry));
        self.are_ahead(now) || entry.is_some_and(|entry| is_ahead(entry.due_at, now))
    }

    fn are_ahead(&self, now: Timestamp) -> bool {
        let marks = [self.past_at, self.floor_at, Some(self.put_at), self.ended_at];
        marks.into_iter().flatten().any(|mark| is_ahead(mark, now))
    }
}

/// Whether something that happened is later than this clock allows.
fn is_ahead(at: Timestamp, now: Timestamp) -> bool {
    at.duration_since(now) > AHEAD_ALLOWANCE
}

/// Whether an entry that was not started was due when it was made: a run, or an occurrence that waited for
/// another.
fn at_once(entry: &Entry) -> bool {
    !entry.started() && (entry.cause == Cause::Run || entry.due_at > entry.nominal_at)
}

/// Sets a job that is ahead of the clock back to now; none if it is not ahead. `plan` is that of its
/// collection.
pub fn repair(found: &Ahead, now: Timestamp, plan: &PlanLimits) -> Option<Repair> {
    let current = &found.job;
    let entry = corrected(found, now, plan);
    if !Marks::of(current).are_ahead(now) && entry == current.progress.entry {
        return None;
    }
    let back = |at: Timestamp| if is_ahead(at, now) { now } else { at };
    let mut job = current.clone();
    job.put_at = back(job.put_at);
    job.progress.floor_at = job.progress.floor_at.map(back);
    job.progress.past_at = job.progress.past_at.map(back);
    job.progress.entry = entry;
    let (old, new) = (timetable(current), timetable(&job));
    let before = keep_started(&mut job, found, &old, &new);
    resume(&mut job, &new, found.collection_enabled, now);
    let withdrawn = Withdrawal { after: now, before };
    let skips = found.skips.iter().filter(|skip| skip.first_at < before);
    let skips = skips.map(|skip| cut(skip, current, &old, now)).collect();
    Some(Repair { job, withdrawn, skips })
}

/// The entry, with a due time that depends on something that happened corrected.
fn corrected(found: &Ahead, now: Timestamp, plan: &PlanLimits) -> Option<Entry> {
    let entry = found.job.progress.entry?;
    let retry = entry.started() && entry.attempt > 0;
    let pause = if retry && found.tried_at.is_some_and(|tried_at| is_ahead(tried_at, now)) {
        found.job.spec.action.retries(entry.step, plan).interval
    } else if at_once(&entry) || (entry.step > 0 && entry.attempt == 0) {
        SignedDuration::ZERO
    } else {
        return Some(entry);
    };
    let due_at = now.checked_add(pause).unwrap_or(Timestamp::MAX);
    Some(if is_ahead(entry.due_at, due_at) { Entry { due_at, ..entry } } else { entry })
}

/// Keeps what was started ahead of time. Returns the instant before which skips are to be deleted.
fn keep_started(job: &mut Job, found: &Ahead, old: &Timetable, new: &Timetable) -> Timestamp {
    let past_at = found.job.progress.past_at;
    let known = if job.put_at == found.job.put_at {
        job.progress.ahead.clone()
    } else {
        ahead::retimed(&job.progress.ahead, old, new)
    };
    let mut parts = ahead::ranges(new, found.started.iter().copied());
    let whole = found.started.len() < STARTED_MAX && parts.len() <= RANGES_KEPT;
    let mut before = Timestamp::MAX;
    if !whole {
        parts.truncate(RANGES_KEPT);
        if let Some(last) = parts.last_mut() {
            last.last_at = past_at.map_or(last.last_at, |past_at| past_at.max(last.last_at));
            before = last.first_at;
        }
    }
    parts.extend(known);
    parts.sort_unstable_by_key(|part| part.first_at);
    job.progress.ahead = ahead::bounded(ahead::join(new, parts));
    ahead::forget_passed(&mut job.progress);
    before
}

/// Replaces an entry that is not next any more by the next occurrence.
fn resume(job: &mut Job, timetable: &Timetable, collection_enabled: bool, now: Timestamp) {
    let ended_ahead = job.progress.ended_at.is_some_and(|ended_at| is_ahead(ended_at, now));
    let scheduled =
        job.progress.entry.is_some_and(|entry| entry.cause == Cause::Schedule && !entry.started());
    if !ended_ahead && !scheduled {
        return;
    }
    let next = next_occurrence(job, timetable);
    if next.is_none() {
        // A completed or faulted job stays as it is.
        job.progress.entry = job.progress.entry.filter(|_| !scheduled);
        if !ended_ahead {
            end(job, now);
        }
        job.progress.ended_at = Some(now);
        return;
    }
    if ended_ahead {
        job.state = JobState::Enabled;
        job.progress.ended_at = None;
    }
    if scheduled || (job.progress.entry.is_none() && collection_enabled) {
        job.progress.entry = next.map(Entry::scheduled);
    }
}

/// What is left of a skip: the occurrences that are past. If the rule that yielded them is unknown by now, only
/// the first is left.
fn cut(skip: &Skip, job: &Job, timetable: &Timetable, now: Timestamp) -> Skip {
    let known = skip.generation == job.generation && timetable.contains(skip.first_at);
    let more = if known { timetable.due_between(skip.first_at, now) } else { None };
    let (last_at, count) = more.map_or((skip.first_at, 1), |more| (more.last, more.count + 1));
    Skip { last_at, count, decided_at: skip.decided_at.min(now), ..skip.clone() }
}
