//! What a caller's change makes of a job.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_recurrence::TICK;

use super::ahead;
use super::next::{due_unstarted, end, next_occurrence, run_entry, timetable};
use crate::{Counters, Entry, Job, JobId, JobKey, JobSpec, JobState, Progress, Skip};

/// The circumstances of a change that are not part of the job.
#[derive(Clone, Copy, Debug)]
pub struct EditContext {
    /// The time of the change.
    pub now: Timestamp,
    /// Whether the job's collection is enabled.
    pub collection_enabled: bool,
}

/// A PUT: a new job, or a new generation of an existing one. Counters and `count` start again at 0, pending
/// attempts are dropped, waiting runs stay.
pub fn put(spec: JobSpec, key: &JobKey, current: Option<&Job>, context: EditContext) -> Job {
    let mut job = Job {
        id: current.map_or(JobId(0), |job| job.id),
        key: current.map_or_else(|| key.clone(), |job| job.key.clone()),
        state: JobState::Disabled,
        generation: current.map_or(1, |job| job.generation + 1),
        put_at: context.now,
        counters: Counters::default(),
        last_started_at: current.and_then(|job| job.last_started_at),
        progress: Progress {
            runs: current.map(waiting_runs).unwrap_or_default(),
            last_run_at: current.and_then(|job| job.progress.last_run_at),
            ..Progress::default()
        },
        revision: current.map_or(0, |job| job.revision),
        spec: Arc::new(spec),
    };
    if job.spec.enabled {
        job.state = JobState::Enabled;
        schedule(&mut job, context);
    } else {
        next_run(&mut job, context);
    }
    job
}

/// A PATCH, whose merged definition is `spec`. Keeps anchor, counters and history. If neither start nor
/// recurrence nor state changes, the agenda stays as it is.
pub fn patch(spec: JobSpec, current: &Job, context: EditContext) -> Job {
    let old = &current.spec;
    let mut job = Job { spec: Arc::new(spec), ..current.clone() };
    let timing_changed = job.spec.start_at != old.start_at || job.spec.recurrence != old.recurrence;
    if timing_changed {
        job.progress.ahead = ahead::retimed(&job.progress.ahead, &timetable(current), &timetable(&job));
    }
    match (old.enabled, job.spec.enabled) {
        (false, false) => job,
        (true, true) if !timing_changed => job,
        (true, true) => {
            skip_due(&mut job, current, context.now);
            job.progress.floor_at = Some(context.now);
            // Retries and runs continue.
            let keeps_entry = job.progress.entry.is_some_and(|entry| entry.started() || is_run(&entry));
            if !keeps_entry {
                schedule(&mut job, context);
            }
            job
        }
        (true, false) => {
            job.state = JobState::Disabled;
            skip_due(&mut job, current, context.now);
            drop_pending(&mut job, context);
            job
        }
        (false, true) => {
            job.state = JobState::Enabled;
            resume(&job, context)
        }
    }
}

/// The collection was disabled: nothing fires, pending attempts are dropped, the state of the job stays.
pub fn pause(current: &Job, now: Timestamp) -> Job {
    let mut job = current.clone();
    skip_due(&mut job, current, now);
    drop_pending(&mut job, EditContext { now, collection_enabled: false });
    job
}

/// The job or its collection was enabled: the next occurrence is one of the future. Nothing is made up for,
/// except that a job that runs once and has not run yet runs at once.
pub fn resume(current: &Job, context: EditContext) -> Job {
    let mut job = current.clone();
    job.progress.floor_at = Some(context.now);
    if job.progress.entry.is_some_and(|entry| entry.started()) {
        // A run of the disabled job is being retried; what comes next is decided when it has ended.
        return job;
    }
    if job.state == JobState::Enabled {
        schedule(&mut job, context);
    } else {
        next_run(&mut job, context);
    }
    job
}

/// A collection was enabled or disabled: its jobs, each [`resume`]d or [`pause`]d, and the occurrences that
/// this skips.
pub fn switch(jobs: &[Job], enabled: bool, now: Timestamp) -> (Vec<Job>, Vec<Skip>) {
    let switch_one = |job: &Job| {
        if enabled { resume(job, EditContext { now, collection_enabled: true }) } else { pause(job, now) }
    };
    let switched: Vec<Job> = jobs.iter().map(switch_one).collect();
    let skips = jobs.iter().zip(&switched).flat_map(|(from, to)| skips_of_edit(from, to, now)).collect();
    (switched, skips)
}

/// The due occurrences that were not started and that a change of a job at `now` skips. To be written with the
/// change, so that each of them has an outcome (18.6).
///
/// An edit can't know whether the attempt in flight, if there is one, will ever be recorded. So its occurrence
/// is among these; where it has a record as well, the record counts. Those that are due after it are among
/// these, too, even where it is the last one that `count` allows: they are due if it is never recorded.
pub fn skips_of_edit(from: &Job, to: &Job, now: Timestamp) -> Vec<Skip> {
    if (from.generation, from.progress.past_at) == (to.generation, to.progress.past_at) {
        return Vec::new();
    }
    due_unstarted(from, now)
}

/// The job does not return to occurrences that the edit skips.
fn skip_due(job: &mut Job, current: &Job, now: Timestamp) {
    let last = due_unstarted(current, now).last().map(|skip| skip.last_at);
    job.progress.past_at = job.progress.past_at.max(last);
}

/// The most runs that may wait for one job; further ones are refused for now.
pub const RUNS_WAITING_MAX: usize = 100;

/// Somebody asks for a run. It is due at once, or waits for what is due or in flight. `None` if too many runs
/// are waiting.
pub fn run(current: &Job, now: Timestamp) -> Option<Job> {
    if current.progress.runs.len() >= RUNS_WAITING_MAX {
        return None;
    }
    let mut job = current.clone();
    // Each run has an instant of its own, even if several are asked for in the same instant, if the clock was
    // set back, or if it is behind that of another node. The run is due at once all the same.
    let latest = waiting_runs(&job).into_iter().chain(job.progress.last_run_at).max();
    let asked_at = latest.map_or(now, |latest| now.max(latest + TICK));
    job.progress.last_run_at = Some(asked_at);
    match job.progress.entry {
        Some(entry) if entry.started() || is_run(&entry) || entry.due_at <= now || released(&entry) => {
            job.progress.runs.push(asked_at);
        }
        Some(_) | None => job.progress.entry = Some(run_entry(asked_at, now)),
    }
    Some(job)
}

/// Whether it waited for another occurrence. Then it is due, whatever the clock of this node shows.
fn released(entry: &Entry) -> bool {
    entry.due_at > entry.nominal_at
}

/// Puts the next occurrence on the agenda, or ends the job.
fn schedule(job: &mut Job, context: EditContext) {
    job.progress.runs = waiting_runs(job);
    job.progress.entry = None;
    if !context.collection_enabled {
        return;
    }
    let next = next_occurrence(job, &timetable(job));
    if next.is_none() {
        end(job, context.now);
    }
    next_run(job, context);
    if job.progress.entry.is_none() {
        job.progress.entry = next.map(Entry::scheduled);
    }
}

/// The oldest waiting run becomes the entry.
fn next_run(job: &mut Job, context: EditContext) {
    if context.collection_enabled && !job.progress.runs.is_empty() {
        job.progress.entry = Some(run_entry(job.progress.runs.remove(0), context.now));
    }
}

/// Disabling drops pending retries and error actions; their occurrence counts as failed.
fn drop_pending(job: &mut Job, context: EditContext) {
    job.progress.runs = waiting_runs(job);
    job.progress.drop_count += 1;
    if let Some(entry) = job.progress.entry.take().filter(|entry| entry.started() && entry.step == 0) {
        job.counters.faulted += 1;
        job.progress.last_failed |= !is_run(&entry);
    }
    next_run(job, context);
}

/// Runs that were asked for and not started.
fn waiting_runs(job: &Job) -> Vec<Timestamp> {
    let entry = job.progress.entry.filter(|entry| is_run(entry) && !entry.started());
    entry.map(|entry| entry.nominal_at).into_iter().chain(job.progress.runs.iter().copied()).collect()
}

fn is_run(entry: &Entry) -> bool {
    entry.cause == crate::Cause::Run
}
