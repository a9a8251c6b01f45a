//! What an outcome makes of a job.

use jiff::Timestamp;

use super::next::{advance, end, next_occurrence, timetable};
use crate::{Cause, Entry, Job, JobState, Outcome, Record, RecordStatus, Skip, Sku};

/// An attempt that has ended.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The job as it was when the attempt began; its entry says which attempt it was.
    pub claimed: Job,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// How it ended.
    pub outcome: Outcome,
}

/// What is to be written.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The job with its new state, counters and progress, on the revision it was decided on.
    pub job: Job,
    /// The attempt, and whatever else there is to tell.
    pub records: Vec<Record>,
    /// What was skipped.
    pub skips: Vec<Skip>,
}

/// Decides on the job as it is now, which may have been edited since the attempt began: that changes
/// what comes next and never loses the record.
pub fn settle(attempt: &Attempt, current: &Job, sku: Sku) -> Verdict {
    let claimed = &attempt.claimed;
    let entry = claimed.progress.entry.expect("what was claimed had an entry");
    let same_generation = current.generation == claimed.generation;
    let execution_before = if same_generation { current.counters.execution } else { claimed.counters.execution };
    let ordinal = if entry.started() { entry.ordinal } else { execution_before + 1 };
    let record = record(attempt, entry, ordinal);
    let mut job = current.clone();
    if !same_generation {
        return Verdict { job, records: vec![record], skips: Vec::new() };
    }
    count(&mut job, attempt, entry);
    let dropped = current.progress.drop_count != claimed.progress.drop_count;
    if dropped {
        settle_dropped(&mut job, attempt, entry);
        return Verdict { job, records: vec![record], skips: Vec::new() };
    }
    // A run that was put in front of an entry in flight is not lost.
    if let Some(other) = job.progress.entry.filter(|other| *other != entry && other.cause == Cause::Run) {
        job.progress.runs.insert(0, other.nominal_at);
    }
    let entry = Entry { ordinal, ..entry };
    if let Some(next) = next_attempt(&mut job, attempt, entry, sku) {
        job.progress.entry = Some(next);
        return Verdict { job, records: vec![record], skips: Vec::new() };
    }
    let next = advance(&mut job, attempt.ended_at);
    Verdict { job, records: [vec![record], next.records].concat(), skips: next.skips }
}

/// The counters, and how far the schedule has come.
fn count(job: &mut Job, attempt: &Attempt, entry: Entry) {
    if !entry.started() {
        job.counters.execution += 1;
        job.last_started_at = Some(attempt.started_at);
        if entry.cause == Cause::Schedule {
            job.progress.started_count += 1;
            // What was skipped to get here was decided when it was claimed.
            let behind = attempt.claimed.progress.past_at.max(Some(entry.nominal_at));
            job.progress.past_at = job.progress.past_at.max(behind);
        }
    }
    if !attempt.outcome.succeeded && entry.step == 0 {
        job.counters.failure += 1;
    }
}

/// The job was disabled while the attempt was in flight: there is no further one.
fn settle_dropped(job: &mut Job, attempt: &Attempt, entry: Entry) {
    if entry.step != 0 {
        return;
    }
    let scheduled = entry.cause == Cause::Schedule;
    match (attempt.outcome.succeeded, entry.started()) {
        // Disabling took the occurrence for failed, but its last attempt made it.
        (true, true) => job.counters.faulted = job.counters.faulted.saturating_sub(1),
        (true, false) | (false, true) => {}
        (false, false) => job.counters.faulted += 1,
    }
    if scheduled {
        job.progress.last_failed = !attempt.outcome.succeeded;
    }
    // Enabled again meanwhile: what was put on the agenda did not know that this one had started.
    let replaceable = job.progress.entry.is_some_and(|next| next.cause == Cause::Schedule && !next.started());
    if scheduled && job.state == JobState::Enabled && replaceable {
        job.progress.entry = next_occurrence(job, &timetable(job)).map(Entry::scheduled);
        if job.progress.entry.is_none() {
            end(job, attempt.ended_at);
        }
    }
}

/// The retry or the error action that follows within the same occurrence, if any.
fn next_attempt(job: &mut Job, attempt: &Attempt, entry: Entry, sku: Sku) -> Option<Entry> {
    let scheduled = entry.cause == Cause::Schedule;
    if attempt.outcome.succeeded {
        if entry.step == 0 && scheduled {
            job.progress.last_failed = false;
        }
        return None;
    }
    let retries = job.spec.action.retries(entry.step, sku);
    if entry.attempt < retries.count {
        let due_at = attempt.ended_at.checked_add(retries.interval).unwrap_or(Timestamp::MAX);
        return Some(Entry { attempt: entry.attempt + 1, due_at, ..entry });
    }
    if entry.step == 0 {
        job.counters.faulted += 1;
        if scheduled {
            job.progress.last_failed = true;
        }
    }
    job.spec.action.step(entry.step + 1)?;
    Some(Entry { step: entry.step + 1, attempt: 0, due_at: attempt.ended_at, ..entry })
}

fn record(attempt: &Attempt, entry: Entry, ordinal: u32) -> Record {
    Record {
        job: attempt.claimed.id,
        generation: attempt.claimed.generation,
        nominal_at: entry.nominal_at,
        cause: entry.cause,
        step: entry.step,
        attempt: entry.attempt,
        ordinal,
        started_at: attempt.started_at,
        ended_at: attempt.ended_at,
        status: if attempt.outcome.succeeded { RecordStatus::Completed } else { RecordStatus::Failed },
        message: attempt.outcome.message.clone(),
    }
}
