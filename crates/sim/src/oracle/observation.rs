//! What the oracle is told.

use jiff::Timestamp;
use punctual_model::{
    Action, Counters, Entry, Firing, Job, JobId, JobKey, JobSpec, JobState, Record, Skip, decide,
};
use punctual_store::{Claim, Fence, Settlement};

/// A claim that was made.
#[derive(Clone, Debug)]
pub(crate) struct Claimed {
    pub(crate) fence: Fence,
    pub(crate) job: JobId,
    pub(crate) key: JobKey,
    /// The claimed entry.
    pub(crate) entry: Option<Entry>,
}

impl Claimed {
    pub(crate) fn of(claim: &Claim) -> Self {
        let job = &claim.job;
        Self { fence: claim.fence, job: job.id, key: job.key.clone(), entry: job.progress.entry }
    }
}

/// An attempt as its receiver sees it.
#[derive(Clone, Debug)]
pub(crate) struct SeenFiring<'a> {
    pub(crate) job: &'a JobKey,
    /// The main action of the definition that it was fired by.
    pub(crate) action: &'a Action,
    pub(crate) step: u8,
    pub(crate) attempt: u32,
    pub(crate) nominal_at: Timestamp,
    pub(crate) tag: String,
}

impl<'a> SeenFiring<'a> {
    pub(crate) fn of(firing: &'a Firing) -> Self {
        let Firing { job, spec, step, attempt, nominal_at, tag, .. } = firing;
        let (step, attempt, nominal_at) = (*step, *attempt, *nominal_at);
        Self { job, action: &spec.action, step, attempt, nominal_at, tag: tag.to_string() }
    }
}

/// A settlement that was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Settling<'a> {
    pub(crate) fence: Fence,
    pub(crate) job: &'a JobKey,
    pub(crate) records: &'a [Record],
    pub(crate) skips: &'a [Skip],
    /// The entry that it puts on the agenda, if that is known.
    pub(crate) next: Option<Option<Entry>>,
    /// The generation of the job that it was decided on, if that is known.
    pub(crate) generation: Option<u32>,
    /// The state that it gives the job, if that is known.
    pub(crate) state: Option<JobState>,
}

impl<'a> Settling<'a> {
    pub(crate) fn of(settlement: &'a Settlement) -> Self {
        let Settlement { fence, job, records, skips, .. } = settlement;
        Self {
            fence: *fence,
            job: &job.key,
            records,
            skips,
            next: Some(job.progress.entry),
            generation: Some(job.generation),
            state: Some(job.state),
        }
    }
}

/// What a read shows of a job.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) spec: JobSpec,
    pub(crate) state: JobState,
    pub(crate) counters: Counters,
    pub(crate) last_started_at: Option<Timestamp>,
    pub(crate) next_at: Option<Timestamp>,
    /// What only the store shows.
    pub(crate) waiting: Option<Waiting>,
}

/// The parts of a job that can't be seen from outside.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) generation: u32,
    pub(crate) put_at: Timestamp,
    pub(crate) entry: Option<Entry>,
    /// How many runs wait for the entry.
    pub(crate) run_count: usize,
}

impl Shown {
    pub(crate) fn of(job: &Job, collection_enabled: bool) -> Self {
        let progress = &job.progress;
        Self {
            spec: punctual_model::JobSpec::clone(&job.spec),
            state: job.state,
            counters: job.counters,
            last_started_at: job.last_started_at,
            next_at: decide::next_execution_at(job, collection_enabled, false),
            waiting: Some(Waiting {
                generation: job.generation,
                put_at: job.put_at,
                entry: progress.entry,
                run_count: progress.runs.len(),
            }),
        }
    }
}
