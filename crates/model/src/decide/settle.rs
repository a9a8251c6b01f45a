//! What an outcome makes of a job.

use jiff::Timestamp;

use super::next::{Next, advance, end};
use crate::{Cause, Entry, Job, JobState, Outcome, PlanLimits, Record, RecordStatus, Skip};

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
    /// What was skipped to get to its occurrence; see [`catch_up`](super::catch_up).
    pub skips: Vec<Skip>,
}

/// What a settlement writes.
#[derive(Clone, Debug)]
pub struct SettleDecision {
    /// The job with its new state, counters and progress, on the revision it was decided on.
    pub job: Job,
    /// The record of the attempt, and of an occurrence that waited for it.
    pub records: Vec<Record>,
    /// What was skipped.
    pub skips: Vec<Skip>,
}

/// Decides on the job as it is now. It may have been edited since the attempt began: that changes what comes
/// next, and never loses the record. `plan` is that of its collection.
pub fn settle(attempt: &Attempt, current: &Job, plan: &PlanLimits) -> SettleDecision {
    let claimed = &attempt.claimed;
    let entry = claimed.progress.entry.expect("what was claimed had an entry");
    let same_generation = current.generation == claimed.generation;
    let execution_before =
        if same_generation { current.counters.execution } else { claimed.counters.execution };
    let ordinal = if entry.started() { entry.ordinal } else { execution_before + 1 };
    let dropped = current.progress.drop_count != claimed.progress.drop_count;
    let mut job = current.clone();
    let next = if !same_generation {
        if !entry.started() {
            job.last_started_at = job.last_started_at.max(Some(attempt.started_at));
        }
        take_up(&mut job, entry, attempt.ended_at)
    } else if dropped {
        count(&mut job, attempt, entry);
        settle_dropped(&mut job, attempt, entry);
        take_up(&mut job, entry, attempt.ended_at)
    } else {
        count(&mut job, attempt, entry);
        settle_held(&mut job, attempt, Entry { ordinal, ..entry }, plan)
    };
    if same_generation && job.state.is_final() {
        job.progress.ended_at = Some(attempt.ended_at);
    }
    let skips = [unaccounted_skips(attempt, current), next.skips].concat();
    SettleDecision { job, records: [vec![record(attempt, entry, ordinal)], next.records].concat(), skips }
}

/// The skips that were needed to get to the occurrence, without those that an edit has written as well.
fn unaccounted_skips(attempt: &Attempt, current: &Job) -> Vec<Skip> {
    let claimed = &attempt.claimed;
    let edited = current.revision != claimed.revision;
    let accounted = |skip: &&Skip| {
        current.generation != claimed.generation || (edited && current.progress.past_at >= Some(skip.last_at))
    };
    attempt.skips.iter().filter(|skip| !accounted(skip)).cloned().collect()
}

/// Nothing was dropped meanwhile: sets the next attempt, or what comes next.
fn settle_held(job: &mut Job, attempt: &Attempt, entry: Entry, plan: &PlanLimits) -> Next {
    // A run that replaced the entry in flight is kept.
    let same = |other: &Entry| (other.cause, other.nominal_at) == (entry.cause, entry.nominal_at);
    if let Some(other) = job.progress.entry.filter(|other| is_run(other) && !same(other)) {
        job.progress.runs.insert(0, other.nominal_at);
    }
    if job.state.is_final() && attempt.claimed.state == JobState::Enabled {
        // An edit that left no occurrence ended the job without knowing of this one.
        job.state = JobState::Enabled;
        job.progress.ended_at = None;
    }
    if let Some(next) = next_attempt(job, attempt, entry, plan) {
        job.progress.entry = Some(next);
        return Next::default();
    }
    advance(job, attempt.ended_at)
}

/// An edit dropped what was in flight, which has ended now. What the edit put on the agenda continues, as after
/// any other occurrence. If it put nothing there, the job or its collection is disabled.
fn take_up(job: &mut Job, ended: Entry, now: Timestamp) -> Next {
    let waiting = job.progress.entry;
    job.progress.runs.splice(0..0, waiting.filter(is_run).map(|entry| entry.nominal_at));
    if is_run(&ended) {
        // It was in flight, but the edit counted it as a waiting run.
        job.progress.runs.retain(|&asked_at| asked_at != ended.nominal_at);
    }
    if waiting.is_some() { advance(job, now) } else { Next::default() }
}

fn is_run(entry: &Entry) -> bool {
    entry.cause == Cause::Run
}

/// Updates the counters and how far the schedule has come.
fn count(job: &mut Job, attempt: &Attempt, entry: Entry) {
    if !entry.started() {
        job.counters.execution += 1;
        job.last_started_at = Some(attempt.started_at);
        if entry.cause == Cause::Schedule {
            job.progress.started_count += 1;
            // Skips up to here were decided when it was claimed.
            let behind = attempt.claimed.progress.past_at.max(Some(entry.nominal_at));
            job.progress.past_at = job.progress.past_at.max(behind);
        }
    }
    if !attempt.outcome.succeeded && entry.step == 0 {
        job.counters.failure += 1;
    }
}

/// The job was disabled while the attempt was in flight: there is no further attempt.
fn settle_dropped(job: &mut Job, attempt: &Attempt, entry: Entry) {
    if entry.step != 0 {
        return;
    }
    let scheduled = entry.cause == Cause::Schedule;
    match (attempt.outcome.succeeded, entry.started()) {
        // Disabling counted the occurrence as failed, but its last attempt succeeded.
        (true, true) => job.counters.faulted = job.counters.faulted.saturating_sub(1),
        (true, false) | (false, true) => {}
        (false, false) => job.counters.faulted += 1,
    }
    if scheduled {
        job.progress.last_failed = !attempt.outcome.succeeded;
    }
    if scheduled && job.state.is_final() {
        // It was enabled again with nothing left, and ended without knowing how this one would end.
        end(job, attempt.ended_at);
    }
}

/// The retry or error action that follows within the same occurrence, if any.
fn next_attempt(job: &mut Job, attempt: &Attempt, entry: Entry, plan: &PlanLimits) -> Option<Entry> {
    let scheduled = entry.cause == Cause::Schedule;
    if attempt.outcome.succeeded {
        if entry.step == 0 && scheduled {
            job.progress.last_failed = false;
        }
        return None;
    }
    // An edit may have removed the pending error action.
    job.spec.action.step(entry.step)?;
    let retries = job.spec.action.retries(entry.step, plan);
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
