//! A job: what was asked for, and how far it has come.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_recurrence::{CheckedRule, Problem, Rule, Start, Timetable};

use crate::{Action, JobId, JobKey};

/// The definition of a job, as a caller wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSpec {
    /// The first occurrence, and the anchor of the recurrence.
    pub start_at: Option<Timestamp>,
    /// What to do.
    pub action: Action,
    /// When to do it again; without it the job runs once.
    pub recurrence: Option<Rule>,
    /// Whether it is enabled.
    pub enabled: bool,
}

impl JobSpec {
    /// The definition of a job that runs once, at once.
    pub fn once(action: Action) -> Self {
        Self { start_at: None, action, recurrence: None, enabled: true }
    }

    /// The timetable of a job put at `put_at`, or every problem of its recurrence.
    pub fn timetable(&self, put_at: Timestamp) -> Result<Timetable, Vec<Problem>> {
        let start = Start { start_at: self.start_at, put_at };
        match &self.recurrence {
            None => Ok(Timetable::once(start)),
            Some(rule) => rule.check().map(|checked: CheckedRule| checked.timetable(start)),
        }
    }
}

/// A job as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its identity for as long as it exists.
    pub id: JobId,
    /// Its name and where it is.
    pub key: JobKey,
    /// Its definition; shared with attempts in flight.
    pub spec: Arc<JobSpec>,
    /// Whether it has a future.
    pub state: JobState,
    /// Each PUT begins a generation, counted from 1; records and counters belong to one.
    pub generation: u32,
    /// The time of the last PUT: the anchor of a job without a start time.
    pub put_at: Timestamp,
    /// What happened in this generation.
    pub counters: Counters,
    /// The start of the first attempt of the latest occurrence.
    pub last_started_at: Option<Timestamp>,
    /// How far it has come.
    pub progress: Progress,
    /// Incremented by each write; 0 before the first. A write names the revision it was decided on.
    pub revision: i64,
}

impl Job {
    /// Whether its latest occurrence failed for good, or is being tried again.
    pub fn failing(&self) -> bool {
        self.progress.last_failed || self.progress.entry.is_some_and(|entry| entry.started())
    }
}

/// Whether a job has a future.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// It has one.
    Enabled,
    /// It was switched off.
    Disabled,
    /// No occurrence is left, and the last one succeeded.
    Completed,
    /// No occurrence is left, and the last one failed for good.
    Faulted,
}

impl JobState {
    /// Completed or faulted: the job can only be deleted.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Faulted)
    }
}

/// What happened to a job in its generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Occurrences started, runs included.
    pub execution: u32,
    /// Failed attempts of the main action.
    pub failure: u32,
    /// Occurrences whose attempts all failed.
    pub faulted: u32,
}

/// How far a job has come. A job has at most one agenda entry, so it never has two occurrences in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What happens next: the agenda entry.
    pub entry: Option<Entry>,
    /// Scheduled occurrences before this instant do not count any more: when the job was last enabled, or its
    /// schedule last changed.
    pub floor_at: Option<Timestamp>,
    /// When each waiting run was asked for; oldest first.
    pub runs: Vec<Timestamp>,
    /// The latest instant that a run was given. No two runs of a job have the same instant: it identifies them
    /// in tags and in history.
    pub last_run_at: Option<Timestamp>,
    /// The latest scheduled occurrence that was started or skipped.
    pub past_at: Option<Timestamp>,
    /// How many scheduled occurrences were started in this generation, which `count` limits.
    pub started_count: u32,
    /// How often disabling dropped pending attempts. An attempt in flight at that time has no successor.
    pub drop_count: u32,
    /// Whether the main action of the latest scheduled occurrence failed for good.
    pub last_failed: bool,
    /// When the job became completed or faulted; it is deleted some time later.
    pub ended_at: Option<Timestamp>,
    /// Occurrences later than `past_at` that have an outcome already, because they were started while the clock
    /// was ahead. Ordered, disjoint and not adjacent.
    pub ahead: Vec<OccurrenceRange>,
}

/// A range of consecutive occurrences of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OccurrenceRange {
    /// The first of them.
    pub first_at: Timestamp,
    /// The last of them; the same if there is one.
    pub last_at: Timestamp,
}

/// A row of the agenda: the next thing to do for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The instant that the rule yields, or when the run was asked for. Retries keep it.
    pub nominal_at: Timestamp,
    /// When to fire: never before this instant.
    pub due_at: Timestamp,
    /// Whether the schedule or a caller caused it.
    pub cause: Cause,
    /// 0 for the main action, 1 to 5 for error actions.
    pub step: u8,
    /// 0 for the first try of a step.
    pub attempt: u32,
    /// The ordinal of the occurrence in its generation, from 1; 0 until it is started.
    pub ordinal: u32,
}

impl Entry {
    /// The first try of an occurrence of the schedule.
    pub fn scheduled(nominal_at: Timestamp) -> Self {
        Self { nominal_at, due_at: nominal_at, cause: Cause::Schedule, step: 0, attempt: 0, ordinal: 0 }
    }

    /// A run that was asked for.
    pub fn run(asked_at: Timestamp) -> Self {
        Self { cause: Cause::Run, ..Self::scheduled(asked_at) }
    }

    /// Whether a first attempt was made, so that this is a retry or an error action.
    pub fn started(&self) -> bool {
        self.ordinal > 0
    }
}

/// Why an occurrence exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The rule yields it.
    Schedule,
    /// Somebody asked for it.
    Run,
}
