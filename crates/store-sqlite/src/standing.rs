//! The standing of a job as columns: its row of the agenda.
//!
//! Callers make it, so that the writer thread only binds numbers.

use jiff::Timestamp;
use punctual_model::{Cause, Counters, Entry, Job, JobState, Progress};
use punctual_store::codec::Number;
use punctual_store::columns::{ahead_bytes, ahead_from, runs_bytes, runs_from, target_hash};
use punctual_store::instant::{from_ticks, to_ticks};
use punctual_store::target_of;
use rusqlite::{Row, ToSql};

use crate::error::SqliteError;

/// The columns that edits and settlements write.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) due_at: Option<i64>,
    pub(crate) target: i64,
    nominal_at: Option<i64>,
    cause: Option<u8>,
    step: Option<u8>,
    attempt: Option<u32>,
    ordinal: Option<u32>,
    floor_at: Option<i64>,
    past_at: Option<i64>,
    started_count: u32,
    drop_count: u32,
    last_failed: bool,
    ended_at: Option<i64>,
    runs: Option<Vec<u8>>,
    ahead: Option<Vec<u8>>,
    state: u8,
    counters: Counters,
    last_started_at: Option<i64>,
    generation: u32,
    put_at: i64,
}

impl Standing {
    pub(crate) fn of(job: &Job) -> Self {
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
        Self {
            due_at: entry.map(|entry| to_ticks(entry.due_at)),
            target: target_hash(&target_of(job)),
            nominal_at: entry.map(|entry| to_ticks(entry.nominal_at)),
            cause: entry.map(|entry| entry.cause.number()),
            step: entry.map(|entry| entry.step),
            attempt: entry.map(|entry| entry.attempt),
            ordinal: entry.map(|entry| entry.ordinal),
            floor_at: floor_at.map(to_ticks),
            past_at: past_at.map(to_ticks),
            started_count: *started_count,
            drop_count: *drop_count,
            last_failed: *last_failed,
            ended_at: ended_at.map(to_ticks),
            runs: runs_bytes(runs, *last_run_at),
            ahead: ahead_bytes(ahead),
            state: job.state.number(),
            counters: job.counters,
            last_started_at: job.last_started_at.map(to_ticks),
            generation: job.generation,
            put_at: to_ticks(job.put_at),
        }
    }

    /// The columns in the order of `settle.sql`, from its second parameter on.
    pub(crate) fn columns(&self) -> [&dyn ToSql; 20] {
        [
            &self.due_at,
            &self.target,
            &self.nominal_at,
            &self.cause,
            &self.step,
            &self.attempt,
            &self.ordinal,
            &self.floor_at,
            &self.past_at,
            &self.started_count,
            &self.drop_count,
            &self.last_failed,
            &self.ended_at,
            &self.runs,
            &self.ahead,
            &self.state,
            &self.counters.execution,
            &self.counters.failure,
            &self.counters.faulted,
            &self.last_started_at,
        ]
    }

    /// The columns that only edits write.
    pub(crate) fn edited(&self) -> [&dyn ToSql; 2] {
        [&self.generation, &self.put_at]
    }
}

/// Reads the standing of a job from a row, from a given column on.
pub(crate) struct StandingColumns {
    pub(crate) progress: Progress,
    pub(crate) state: JobState,
    pub(crate) generation: u32,
    pub(crate) put_at: Timestamp,
    pub(crate) counters: Counters,
    pub(crate) last_started_at: Option<Timestamp>,
    pub(crate) revision: i64,
}

impl StandingColumns {
    pub(crate) fn read(row: &Row<'_>, first: usize) -> Result<Self, SqliteError> {
        let instant = |place: usize| optional_instant(row.get(first + place)?);
        let entry = match instant(0)? {
            None => None,
            Some(due_at) => Some(Entry {
                due_at,
                nominal_at: instant(1)?.ok_or(SqliteError::invalid("the nominal time of its entry"))?,
                cause: Cause::from_number(row.get(first + 2)?)
                    .ok_or(SqliteError::invalid("the cause of its entry"))?,
                step: row.get(first + 3)?,
                attempt: row.get(first + 4)?,
                ordinal: row.get(first + 5)?,
            }),
        };
        let runs = row.get_ref(first + 12)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
        let (runs, last_run_at) =
            runs_from(runs.unwrap_or_default()).ok_or(SqliteError::invalid("the runs that wait"))?;
        let ahead = row.get_ref(first + 13)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
        let progress = Progress {
            entry,
            floor_at: instant(6)?,
            past_at: instant(7)?,
            started_count: row.get(first + 8)?,
            drop_count: row.get(first + 9)?,
            last_failed: row.get(first + 10)?,
            ended_at: instant(11)?,
            runs,
            last_run_at,
            ahead: ahead_from(ahead.unwrap_or_default())
                .ok_or(SqliteError::invalid("what a job started ahead of the clock"))?,
        };
        Ok(Self {
            progress,
            state: JobState::from_number(row.get(first + 14)?).ok_or(SqliteError::invalid("its state"))?,
            generation: row.get(first + 15)?,
            put_at: instant(16)?.ok_or(SqliteError::invalid("the time of its last PUT"))?,
            counters: Counters {
                execution: row.get(first + 17)?,
                failure: row.get(first + 18)?,
                faulted: row.get(first + 19)?,
            },
            last_started_at: instant(20)?,
            revision: row.get(first + 21)?,
        })
    }
}

pub(crate) fn instant(ticks: i64) -> Result<Timestamp, SqliteError> {
    from_ticks(ticks).ok_or(SqliteError::invalid("an instant"))
}

fn optional_instant(ticks: Option<i64>) -> Result<Option<Timestamp>, SqliteError> {
    ticks.map(instant).transpose()
}
