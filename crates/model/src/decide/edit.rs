//! What a caller's change makes of a job.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_recurrence::TICK;

use super::ahead;
use super::next::{due_unstarted, end, next_occurrence, run_entry, timetable};
use crate::{Counters, Entry, Job, JobId, JobKey, JobSpec, JobState, Progress, Skip};

/// Where and when a job is placed.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    /// The time of the change.
    pub now: Timestamp,
    /// Whether the job's collection is enabled.
    pub collection_enabled: bool,
}

/// A PUT: a new job, or a new generation of an existing one. Counters and `count` begin anew, pending
/// attempts are dropped, runs that wait stay.
pub fn place(spec: JobSpec, key: &JobKey, current: Option<&Job>, placement: Placement) -> Job {
    let mut job = Job {
        id: current.map_or(JobId(0), |job| job.id),
        key: current.map_or_else(|| key.clone(), |job| job.key.clone()),
        state: JobState::Disabled,
        generation: current.map_or(1, |job| job.generation + 1),
        put_at: placement.now,
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
        schedule(&mut job, placement);
    } else {
        next_run(&mut job, placement);
    }
    job
}

/// A PATCH, whose merged definition is `spec`. Keeps anchor, counters and history; one that changes
/// neither start nor recurrence nor state leaves the agenda alone.
pub fn edit(spec: JobSpec, current: &Job, placement: Placement) -> Job {
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
            pass_over(&mut job, current, placement.now);
            job.progress.floor_at = Some(placement.now);
            // What is in the middle of its attempts, or was asked for, goes on.
            let keeps_entry = job.progress.entry.is_some_and(|entry| entry.started() || is_run(&entry));
            if !keeps_entry {
                schedule(&mut job, placement);
            }
            job
        }
        (true, false) => {
            job.state = JobState::Disabled;
            pass_over(&mut job, current, placement.now);
            drop_pending(&mut job, placement);
            job
        }
        (false, true) => {
            job.state = JobState::Enabled;
            resume(&job, placement)
        }
    }
}

/// The collection was switched off: nothing fires, pending attempts are dropped, the job's own state
/// stays.
pub fn hold(current: &Job, now: Timestamp) -> Job {
    let mut job = current.clone();
    pass_over(&mut job, current, now);
    drop_pending(&mut job, Placement { now, collection_enabled: false });
    job
}

/// The job or its collection was switched on: the next occurrence is one of the future; nothing is
/// kept in arrears, except that a job that runs once and has not runs at once.
pub fn resume(current: &Job, placement: Placement) -> Job {
    let mut job = current.clone();
    job.progress.floor_at = Some(placement.now);
    if job.progress.entry.is_some_and(|entry| entry.started()) {
        // A run of the disabled job that is being tried again: what comes next is found when it has ended.
        return job;
    }
    if job.state == JobState::Enabled {
        schedule(&mut job, placement);
    } else {
        next_run(&mut job, placement);
    }
    job
}

/// A collection was switched on or off: what becomes of its jobs, each [`resume`]d or on [`hold`], and the
/// occurrences that they pass over.
pub fn switch(jobs: &[Job], enabled: bool, now: Timestamp) -> (Vec<Job>, Vec<Skip>) {
    let switch_one = |job: &Job| {
        if enabled { resume(job, Placement { now, collection_enabled: true }) } else { hold(job, now) }
    };
    let switched: Vec<Job> = jobs.iter().map(switch_one).collect();
    let skips = jobs.iter().zip(&switched).flat_map(|(from, to)| passed_over(from, to, now)).collect();
    (switched, skips)
}

/// What the change of a job from one to another at `now` passes over: occurrences that were due and not
/// begun. To be written with the change, so that each of them has an outcome (18.6).
///
/// Nobody who edits can know whether the attempt in flight, if there is one, will ever be recorded: its
/// occurrence is among these, and where it has a record as well, that is what happened. So are those that
/// are due behind it, also where it is the last that `count` allows: they are due if it is never recorded.
pub fn passed_over(from: &Job, to: &Job, now: Timestamp) -> Vec<Skip> {
    if (from.generation, from.progress.past_at) == (to.generation, to.progress.past_at) {
        return Vec::new();
    }
    due_unstarted(from, now)
}

/// What is passed over is behind the job for good.
fn pass_over(job: &mut Job, current: &Job, now: Timestamp) {
    let last = due_unstarted(current, now).last().map(|skip| skip.last_at);
    job.progress.past_at = job.progress.past_at.max(last);
}

/// The most runs that may wait for one job; whoever asks for more is told to come back.
pub const RUNS_WAITING_MAX: usize = 100;

/// A run is asked for. It goes at once, or waits behind what is due or in flight. `None` if too many
/// wait already.
pub fn run(current: &Job, now: Timestamp) -> Option<Job> {
    if current.progress.runs.len() >= RUNS_WAITING_MAX {
        return None;
    }
    let mut job = current.clone();
    // Each run has an instant of its own, also of those that are asked for at once, and where a clock was set
    // back or is behind that of another node. It goes at once all the same.
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

/// Whether it waited behind another occurrence: it is due, whatever the clock of this node says.
fn released(entry: &Entry) -> bool {
    entry.due_at > entry.nominal_at
}

/// Puts the next occurrence on the agenda, or ends the job.
fn schedule(job: &mut Job, placement: Placement) {
    job.progress.runs = waiting_runs(job);
    job.progress.entry = None;
    if !placement.collection_enabled {
        return;
    }
    let next = next_occurrence(job, &timetable(job));
    if next.is_none() {
        end(job, placement.now);
    }
    next_run(job, placement);
    if job.progress.entry.is_none() {
        job.progress.entry = next.map(Entry::scheduled);
    }
}

/// The oldest run that waits becomes the entry.
fn next_run(job: &mut Job, placement: Placement) {
    if placement.collection_enabled && !job.progress.runs.is_empty() {
        job.progress.entry = Some(run_entry(job.progress.runs.remove(0), placement.now));
    }
}

/// Disabling: retries and error actions to come are dropped, and their occurrence has failed.
fn drop_pending(job: &mut Job, placement: Placement) {
    job.progress.runs = waiting_runs(job);
    job.progress.drop_count += 1;
    if let Some(entry) = job.progress.entry.take().filter(|entry| entry.started() && entry.step == 0) {
        job.counters.faulted += 1;
        job.progress.last_failed |= !is_run(&entry);
    }
    next_run(job, placement);
}

/// Runs that were asked for and not begun.
fn waiting_runs(job: &Job) -> Vec<Timestamp> {
    let entry = job.progress.entry.filter(|entry| is_run(entry) && !entry.started());
    entry.map(|entry| entry.nominal_at).into_iter().chain(job.progress.runs.iter().copied()).collect()
}

fn is_run(entry: &Entry) -> bool {
    entry.cause == crate::Cause::Run
}
