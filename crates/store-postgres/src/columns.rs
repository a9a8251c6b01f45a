//! The standing of a job as columns: its row of the agenda.

use jiff::Timestamp;
use punctual_model::{Cause, Counters, Entry, Job, JobState, Progress, Record, RecordStatus, Skip};
use punctual_store::codec::Number;
use punctual_store::columns::{ahead_bytes, ahead_from, runs_bytes, runs_from, target_hash};
use punctual_store::instant::{from_ticks, to_ticks};
use punctual_store::target_of;
use tokio_postgres::Row;

use crate::error::PgError;
use crate::param::{Param, param};

/// The standings of several jobs, column by column, in the order of the statements that write them.
#[derive(Default)]
pub(crate) struct Standings {
    pub(crate) job: Vec<i64>,
    due_at: Vec<Option<i64>>,
    target: Vec<i64>,
    nominal_at: Vec<Option<i64>>,
    cause: Vec<Option<i16>>,
    step: Vec<Option<i16>>,
    attempt: Vec<Option<i64>>,
    ordinal: Vec<Option<i64>>,
    floor_at: Vec<Option<i64>>,
    past_at: Vec<Option<i64>>,
    started_count: Vec<i64>,
    drop_count: Vec<i64>,
    last_failed: Vec<bool>,
    ended_at: Vec<Option<i64>>,
    runs: Vec<Option<Vec<u8>>>,
    ahead: Vec<Option<Vec<u8>>>,
    state: Vec<i16>,
    execution_count: Vec<i64>,
    failure_count: Vec<i64>,
    faulted_count: Vec<i64>,
    last_started_at: Vec<Option<i64>>,
    generation: Vec<i64>,
    put_at: Vec<i64>,
    /// The revision that the change was decided on.
    pub(crate) revision: Vec<i64>,
}

impl Standings {
    /// The standing of one job.
    pub(crate) fn one(job: &Job) -> Self {
        let mut standings = Self::default();
        standings.push(job);
        standings
    }

    pub(crate) fn push(&mut self, job: &Job) {
        let Progress {
            entry,
            floor_at,
            runs,
            last_run_at,
            past_at,
            started_count,
            drop_count,
            last_failed,
            ended_at,
            ahead,
        } = &job.progress;
        self.job.push(job.id.0);
        self.due_at.push(entry.map(|entry| to_ticks(entry.due_at)));
        self.target.push(target_hash(&target_of(job)));
        self.nominal_at.push(entry.map(|entry| to_ticks(entry.nominal_at)));
        self.cause.push(entry.map(|entry| entry.cause.number().into()));
        self.step.push(entry.map(|entry| entry.step.into()));
        self.attempt.push(entry.map(|entry| entry.attempt.into()));
        self.ordinal.push(entry.map(|entry| entry.ordinal.into()));
        self.floor_at.push(floor_at.map(to_ticks));
        self.past_at.push(past_at.map(to_ticks));
        self.started_count.push((*started_count).into());
        self.drop_count.push((*drop_count).into());
        self.last_failed.push(*last_failed);
        self.ended_at.push(ended_at.map(to_ticks));
        self.runs.push(runs_bytes(runs, *last_run_at));
        self.ahead.push(ahead_bytes(ahead));
        self.state.push(job.state.number().into());
        self.execution_count.push(job.counters.execution.into());
        self.failure_count.push(job.counters.failure.into());
        self.faulted_count.push(job.counters.faulted.into());
        self.last_started_at.push(job.last_started_at.map(to_ticks));
        self.generation.push(job.generation.into());
        self.put_at.push(to_ticks(job.put_at));
        self.revision.push(job.revision);
    }

    pub(crate) fn len(&self) -> usize {
        self.job.len()
    }

    /// The earliest due entry.
    pub(crate) fn earliest(&self) -> Option<(i64, i64)> {
        self.due_at.iter().zip(&self.job).filter_map(|(due_at, job)| Some(((*due_at)?, *job))).min()
    }

    /// Job and entry, and what else settlements write.
    pub(crate) fn settled(&self) -> Vec<Param<'_>> {
        vec![
            param(&self.job),
            param(&self.due_at),
            param(&self.target),
            param(&self.nominal_at),
            param(&self.cause),
            param(&self.step),
            param(&self.attempt),
            param(&self.ordinal),
            param(&self.floor_at),
            param(&self.past_at),
            param(&self.started_count),
            param(&self.drop_count),
            param(&self.last_failed),
            param(&self.ended_at),
            param(&self.runs),
            param(&self.ahead),
            param(&self.state),
            param(&self.execution_count),
            param(&self.failure_count),
            param(&self.faulted_count),
            param(&self.last_started_at),
        ]
    }

    /// That, and what only edits write, and the revision.
    pub(crate) fn edited(&self) -> Vec<Param<'_>> {
        let mut params = self.settled();
        params.extend([param(&self.generation), param(&self.put_at), param(&self.revision)]);
        params
    }
}

/// Records, column by column.
#[derive(Default)]
pub(crate) struct Records {
    job: Vec<i64>,
    generation: Vec<i64>,
    nominal_at: Vec<i64>,
    cause: Vec<i16>,
    step: Vec<i16>,
    attempt: Vec<i64>,
    ordinal: Vec<i64>,
    started_at: Vec<i64>,
    ended_at: Vec<i64>,
    status: Vec<i16>,
    kind: Vec<i16>,
    message: Vec<Vec<u8>>,
}

impl Records {
    pub(crate) fn push(&mut self, record: &Record) {
        self.job.push(record.job.0);
        self.generation.push(record.generation.into());
        self.nominal_at.push(to_ticks(record.nominal_at));
        self.cause.push(record.cause.number().into());
        self.step.push(record.step.into());
        self.attempt.push(record.attempt.into());
        self.ordinal.push(record.ordinal.into());
        self.started_at.push(to_ticks(record.started_at));
        self.ended_at.push(to_ticks(record.ended_at));
        self.status.push(record.status.number().into());
        self.kind.push((record.status == RecordStatus::Postponed).into());
        self.message.push(record.message.clone().into_bytes());
    }

    /// All columns.
    pub(crate) fn params(&self) -> Vec<Param<'_>> {
        vec![
            param(&self.job),
            param(&self.generation),
            param(&self.nominal_at),
            param(&self.cause),
            param(&self.step),
            param(&self.attempt),
            param(&self.ordinal),
            param(&self.started_at),
            param(&self.ended_at),
            param(&self.status),
            param(&self.kind),
            param(&self.message),
        ]
    }

    /// The columns that identify attempts.
    pub(crate) fn attempts(&self) -> Vec<Param<'_>> {
        vec![
            param(&self.job),
            param(&self.nominal_at),
            param(&self.cause),
            param(&self.step),
            param(&self.attempt),
            param(&self.generation),
            param(&self.kind),
        ]
    }
}

/// Skips, column by column.
#[derive(Default)]
pub(crate) struct Skips {
    job: Vec<i64>,
    generation: Vec<i64>,
    first_at: Vec<i64>,
    last_at: Vec<i64>,
    occurrence_count: Vec<i64>,
    reason: Vec<i16>,
    decided_at: Vec<i64>,
}

impl Skips {
    pub(crate) fn of(skips: &[Skip]) -> Self {
        let mut columns = Self::default();
        skips.iter().for_each(|skip| columns.push(skip));
        columns
    }

    pub(crate) fn push(&mut self, skip: &Skip) {
        self.job.push(skip.job.0);
        self.generation.push(skip.generation.into());
        self.first_at.push(to_ticks(skip.first_at));
        self.last_at.push(to_ticks(skip.last_at));
        self.occurrence_count.push(i64::try_from(skip.count).unwrap_or(i64::MAX));
        self.reason.push(skip.reason.number().into());
        self.decided_at.push(to_ticks(skip.decided_at));
    }

    pub(crate) fn params(&self) -> Vec<Param<'_>> {
        vec![
            param(&self.job),
            param(&self.generation),
            param(&self.first_at),
            param(&self.last_at),
            param(&self.occurrence_count),
            param(&self.reason),
            param(&self.decided_at),
        ]
    }
}

/// The standing of a job, read from a row.
pub(crate) struct Standing {
    pub(crate) progress: Progress,
    pub(crate) state: JobState,
    pub(crate) generation: u32,
    pub(crate) put_at: Timestamp,
    pub(crate) counters: Counters,
    pub(crate) last_started_at: Option<Timestamp>,
    pub(crate) revision: i64,
}

impl Standing {
    /// Reads it from a given column on.
    pub(crate) fn read(row: &Row, first: usize) -> Result<Self, PgError> {
        let instant = |place: usize| optional_instant(row.try_get(first + place)?);
        let count = |place: usize| unsigned(row.try_get(first + place)?);
        let entry = match instant(0)? {
            None => None,
            Some(due_at) => Some(Entry {
                due_at,
                nominal_at: instant(1)?.ok_or(PgError::invalid("the nominal time of its entry"))?,
                cause: Cause::from_number(row.try_get::<_, i16>(first + 2)?.into())
                    .ok_or(PgError::invalid("the cause of its entry"))?,
                step: step(row.try_get(first + 3)?)?,
                attempt: count(4)?,
                ordinal: count(5)?,
            }),
        };
        let bytes = |place: usize| row.try_get::<_, Option<&[u8]>>(first + place);
        let (runs, last_run_at) =
            runs_from(bytes(12)?.unwrap_or_default()).ok_or(PgError::invalid("the runs that wait"))?;
        let progress = Progress {
            entry,
            floor_at: instant(6)?,
            past_at: instant(7)?,
            started_count: count(8)?,
            drop_count: count(9)?,
            last_failed: row.try_get(first + 10)?,
            ended_at: instant(11)?,
            runs,
            last_run_at,
            ahead: ahead_from(bytes(13)?.unwrap_or_default())
                .ok_or(PgError::invalid("what a job started ahead of the clock"))?,
        };
        Ok(Self {
            progress,
            state: JobState::from_number(row.try_get::<_, i16>(first + 14)?.into())
                .ok_or(PgError::invalid("its state"))?,
            generation: count(15)?,
            put_at: instant(16)?.ok_or(PgError::invalid("the time of its last PUT"))?,
            counters: Counters { execution: count(17)?, failure: count(18)?, faulted: count(19)? },
            last_started_at: instant(20)?,
            revision: row.try_get(first + 21)?,
        })
    }
}

pub(crate) fn instant(ticks: i64) -> Result<Timestamp, PgError> {
    from_ticks(ticks).ok_or(PgError::invalid("an instant"))
}

pub(crate) fn optional_instant(ticks: Option<i64>) -> Result<Option<Timestamp>, PgError> {
    ticks.map(instant).transpose()
}

/// A number of 32 bits without a sign.
pub(crate) fn unsigned(number: i64) -> Result<u32, PgError> {
    u32::try_from(number).map_err(|_| PgError::invalid("a count"))
}

pub(crate) fn step(number: i16) -> Result<u8, PgError> {
    u8::try_from(number).map_err(|_| PgError::invalid("a step"))
}
