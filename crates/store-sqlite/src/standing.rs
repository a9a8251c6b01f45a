//! The standing of a job as columns: its row of the agenda.
//!
//! Callers make it, so that the writer thread only binds numbers.

use jiff::Timestamp;
use punctual_model::{Cause, Counters, Entry, Job, JobState, OccurrenceRange, Progress};
use punctual_store::codec::Number;
use punctual_store::instant::{from_ticks, to_ticks};
use punctual_store::target_of;
use rusqlite::{Row, ToSql};
use sha2::{Digest, Sha256};

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
            target: hash(&target_of(job)),
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
            runs: written_runs(runs, *last_run_at),
            ahead: written_ahead(ahead),
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

/// A hash of a target: short in the index, and equal for equal targets.
pub(crate) fn hash(target: &str) -> i64 {
    let digest = Sha256::digest(target.as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(bytes)
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
        let (runs, last_run_at) = read_runs(runs.unwrap_or_default())?;
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
            ahead: read_ahead(ahead.unwrap_or_default())?,
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

/// The first byte of the runs of a job if the latest one comes before the waiting ones. Rows without it have
/// only the waiting ones: that is the first form.
const WITH_LATEST: u8 = 1;

fn written_runs(runs: &[Timestamp], last_run_at: Option<Timestamp>) -> Option<Vec<u8>> {
    let ticks = last_run_at.iter().chain(runs).flat_map(|at| to_ticks(*at).to_be_bytes());
    let first = last_run_at.map(|_| WITH_LATEST);
    let bytes: Vec<u8> = first.into_iter().chain(ticks).collect();
    (!bytes.is_empty()).then_some(bytes)
}

fn read_runs(bytes: &[u8]) -> Result<(Vec<Timestamp>, Option<Timestamp>), SqliteError> {
    let invalid = || SqliteError::invalid("the runs that wait");
    let all = |bytes: &[u8]| -> Result<Vec<Timestamp>, SqliteError> {
        let (ticks, rest) = bytes.as_chunks::<8>();
        if rest.is_empty() {
            ticks.iter().map(|bytes| instant(i64::from_be_bytes(*bytes))).collect()
        } else {
            Err(invalid())
        }
    };
    match bytes {
        [WITH_LATEST, rest @ ..] if rest.len() % 8 == 0 => {
            let mut runs = all(rest)?;
            if runs.is_empty() {
                return Err(invalid());
            }
            let latest = runs.remove(0);
            Ok((runs, Some(latest)))
        }
        bytes => Ok((all(bytes)?, None)),
    }
}

fn written_ahead(ahead: &[OccurrenceRange]) -> Option<Vec<u8>> {
    let ticks = ahead.iter().flat_map(|stretch| [stretch.first_at, stretch.last_at].map(to_ticks));
    let bytes: Vec<u8> = ticks.flat_map(i64::to_be_bytes).collect();
    (!bytes.is_empty()).then_some(bytes)
}

fn read_ahead(bytes: &[u8]) -> Result<Vec<OccurrenceRange>, SqliteError> {
    let (ticks, rest) = bytes.as_chunks::<8>();
    let (pairs, odd) = ticks.as_chunks::<2>();
    if !rest.is_empty() || !odd.is_empty() {
        return Err(SqliteError::invalid("what a job started ahead of the clock"));
    }
    let read = |[first, last]: &[[u8; 8]; 2]| {
        let (first_at, last_at) = (instant(i64::from_be_bytes(*first))?, instant(i64::from_be_bytes(*last))?);
        Ok(OccurrenceRange { first_at, last_at })
    };
    pairs.iter().map(read).collect()
}

pub(crate) fn instant(ticks: i64) -> Result<Timestamp, SqliteError> {
    from_ticks(ticks).ok_or(SqliteError::invalid("an instant"))
}

fn optional_instant(ticks: Option<i64>) -> Result<Option<Timestamp>, SqliteError> {
    ticks.map(instant).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_read_as_they_were_written_now_and_at_first() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let check = |runs: &[Timestamp], last_run_at: Option<Timestamp>| {
            let written = written_runs(runs, last_run_at).unwrap_or_default();
            assert_eq!(read_runs(&written).unwrap(), (runs.to_vec(), last_run_at));
        };
        check(&[], None);
        check(&[], Some(at(3)));
        check(&[at(1), at(2)], Some(at(2)));
        let at_first: Vec<u8> = [at(1), at(2)].iter().flat_map(|at| to_ticks(*at).to_be_bytes()).collect();
        assert_eq!(read_runs(&at_first).unwrap(), (vec![at(1), at(2)], None));
        for bytes in [&[1][..], &[2; 9], &[0; 12]] {
            assert!(read_runs(bytes).is_err(), "{bytes:?}");
        }
    }
}
