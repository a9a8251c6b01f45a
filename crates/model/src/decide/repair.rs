//! What is made of a job that has come further than the clock, because the clock was ahead and was set back.
//!
//! Such a job would be silent until the wrong time comes. [`repair`] puts it back to now:
//!
//! - it resumes at the next occurrence of its rule;
//! - what was started ahead of its time keeps its record and its count, and is not started again
//!   ([`Progress::ahead`](crate::Progress::ahead));
//! - what was skipped ahead of its time is yet to come, so the skip is withdrawn;
//! - a retry is due its interval after now, a run that was asked for and an error action at once;
//! - a job that ended in the time that is yet to come goes on if its rule has something left for it.
//!
//! Only what somebody did can be in the future by mistake: a start, a skip, a PUT, an end. What is planned for
//! the future, such as the next occurrence, is right there. Repairing a job twice changes nothing.

use jiff::{SignedDuration, Timestamp};
use punctual_recurrence::Timetable;

use super::ahead;
use super::next::{end, next_occurrence, timetable};
use crate::{Cause, Entry, Job, JobState, PlanLimits, Skip, Sku};

/// Progress that is less ahead of the clock than this is left alone: clocks of several nodes differ, and are
/// corrected by small steps. It costs a job at most the one occurrence that lies within it.
pub const AHEAD_ALLOWANCE: SignedDuration = SignedDuration::from_secs(60);

/// How many occurrences that were started ahead are looked at: a week of every minute. A job with more keeps the
/// others, and what it skipped between them, as they are.
pub const STARTED_MAX: usize = 10_000;

/// How many stretches are made of them. Room is left for those that the job has already.
const STRETCHES_KEPT: usize = ahead::STRETCHES_MAX / 2;

/// A job, and what there is of it that is later than an instant, all from one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// The job.
    pub job: Job,
    /// Whether its collection is enabled.
    pub collection_enabled: bool,
    /// The plan of its collection.
    pub sku: Sku,
    /// Scheduled occurrences of its generation that are later and have a record of an attempt, in order. Not
    /// more than [`STARTED_MAX`]: if there are so many, there may be more.
    pub started: Vec<Timestamp>,
    /// Skips that began at or before the instant and end later, of any generation.
    pub skips: Vec<Skip>,
    /// Where a retry is pending, when the attempt before it ended; none if there is no record of that.
    pub tried_at: Option<Timestamp>,
}

/// What is to be written, if the job still has the revision that this was decided on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The job with its new state and progress.
    pub job: Job,
    /// Skips to delete.
    pub withdrawn: Withdrawal,
    /// What is left of those skips, to be written anew.
    pub skips: Vec<Skip>,
}

/// All skips of a job that end later than one instant and begin before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Withdrawal {
    /// They end later than this.
    pub after: Timestamp,
    /// They begin before this.
    pub before: Timestamp,
}

/// What of a job says how far it has come.
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
    /// Those of a job.
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

    /// Whether the job may have come further than the clock. A retry that is to come looks like it.
    pub fn may_be_ahead(&self, now: Timestamp) -> bool {
        let entry = self.entry.filter(|entry| entry.started() || at_once(entry));
        self.are_ahead(now) || entry.is_some_and(|entry| is_ahead(entry.due_at, now))
    }

    fn are_ahead(&self, now: Timestamp) -> bool {
        let marks = [self.past_at, self.floor_at, Some(self.put_at), self.ended_at];
        marks.into_iter().flatten().any(|mark| is_ahead(mark, now))
    }
}

/// Whether something that happened can't have happened by this clock.
fn is_ahead(at: Timestamp, now: Timestamp) -> bool {
    at.duration_since(now) > AHEAD_ALLOWANCE
}

/// Whether an entry that was not started was due when it was made: a run, or an occurrence that waited for
/// another.
fn at_once(entry: &Entry) -> bool {
    !entry.started() && (entry.cause == Cause::Run || entry.due_at > entry.nominal_at)
}

/// Puts a job back to now that has come further than the clock; none if it has not. `plan` is that of its
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

/// The entry with a due time that follows from something that happened set right.
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

/// Notes what was started ahead of its time. Returns before when what was skipped is yet to come.
fn keep_started(job: &mut Job, found: &Ahead, old: &Timetable, new: &Timetable) -> Timestamp {
    let past_at = found.job.progress.past_at;
    let known = if job.put_at == found.job.put_at {
        job.progress.ahead.clone()
    } else {
        ahead::retimed(&job.progress.ahead, old, new)
    };
    let mut parts = ahead::stretches(new, found.started.iter().copied());
    let whole = found.started.len() < STARTED_MAX && parts.len() <= STRETCHES_KEPT;
    let mut before = Timestamp::MAX;
    if !whole {
        parts.truncate(STRETCHES_KEPT);
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

/// Puts the next occurrence in the place of one that is not to be the next any more.
fn resume(job: &mut Job, timetable: &Timetable, collection_enabled: bool, now: Timestamp) {
    let ended_ahead = job.progress.ended_at.is_some_and(|ended_at| is_ahead(ended_at, now));
    let scheduled =
        job.progress.entry.is_some_and(|entry| entry.cause == Cause::Schedule && !entry.started());
    if !ended_ahead && !scheduled {
        return;
    }
    let next = next_occurrence(job, timetable);
    if next.is_none() {
        // What was completed or faulted stays it.
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

/// What is left of a skip: the occurrences that are past. Where the rule that yielded them is not known any
/// more, the first stands for them.
fn cut(skip: &Skip, job: &Job, timetable: &Timetable, now: Timestamp) -> Skip {
    let known = skip.generation == job.generation && timetable.contains(skip.first_at);
    let more = if known { timetable.due_between(skip.first_at, now) } else { None };
    let (last_at, count) = more.map_or((skip.first_at, 1), |more| (more.last, more.count + 1));
    Skip { last_at, count, decided_at: skip.decided_at.min(now), ..skip.clone() }
}
